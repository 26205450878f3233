//! `hansard dev`: all roles in this process, with NATS and Postgres as child processes.
//!
//! Starts servers and roles, creates a demo tenant, imports sample conversations, prints one context, then runs until a
//! signal. At the end the roles drain first and the servers stop last; `devstack` also stops them if this process is killed.

mod args;
mod demo;
mod gateway_token;
mod guide;
mod master_key;
mod model_server;
mod nats_password;
mod ports;
mod roles;
mod sample_data;

use std::time::{Duration, Instant};

use devstack::{ServerChoice, Stack, StackConfig};
use models::ModelServersConfig;
use runtime::shutdown::Shutdown;
use runtime::telemetry::{self, TelemetryConfig};

pub(crate) use args::Args;

use crate::console;
use crate::exit::Exit;
use guide::Guide;
use roles::RoleShutdowns;

/// The deadline for draining the roles.
const DRAIN_DEADLINE: Duration = Duration::from_secs(15);

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let started = Instant::now();
    let _telemetry =
        telemetry::init(&TelemetryConfig { log_filter: args.log_filter.clone(), ..TelemetryConfig::default() })?;
    let models = model_server::configured(&args)?;
    let shutdown = Shutdown::new();
    shutdown.listen_for_signals()?;
    let mut stack = tokio::select! {
        stack = start_servers(&args) => stack?,
        () = shutdown.begun() => return Ok(Exit::Done),
    };
    let shutdowns = RoleShutdowns::default();
    let outcome = tokio::select! {
        () = shutdown.begun() => Ok(()),
        outcome = start_and_wait(&args, models, &mut stack, &shutdowns, started) => outcome,
    };
    // Errors after a signal are consequences of the shutdown.
    let was_signalled = shutdown.has_begun();
    let drained = shutdowns.shut_down(DRAIN_DEADLINE).await;
    stack.stop().await;
    if !was_signalled {
        outcome?;
    }
    drained?;
    Ok(Exit::Done)
}

async fn start_servers(args: &Args) -> anyhow::Result<Stack> {
    let choice = |url: &Option<String>, port| match url {
        Some(url) => ServerChoice::Url(url.clone()),
        None => ServerChoice::Managed { port: Some(port) },
    };
    let data_dir = args.data_dir()?;
    let config = StackConfig {
        nats_password: Some(nats_password::prepare(&data_dir)?),
        nats: choice(&args.nats_url, args.port_base.nats()),
        postgres: choice(&args.database_url, args.port_base.postgres()),
        ..StackConfig::new(data_dir)
    };
    Ok(devstack::start(config, &console::print_step).await?)
}

/// Runs until it is dropped; with `--once` until the context is printed.
async fn start_and_wait(
    args: &Args,
    models: ModelServersConfig,
    stack: &mut Stack,
    shutdowns: &RoleShutdowns,
    started: Instant,
) -> anyhow::Result<()> {
    let roles = roles::start(args, models.clone(), stack, shutdowns).await?;
    let data_dir = args.data_dir()?;
    let mut demo = demo::prepare(&roles.record, &data_dir).await?;
    model_server::choose(&roles.record, args, &models).await?;
    sample_data::import(args.import, &roles, &mut demo).await?;
    let guide = Guide { roles: &roles, stack, demo: &demo.settings, data_dir: &data_dir, ports: args.port_base };
    guide.show_context().await?;
    if args.once {
        return Ok(());
    }
    guide.show_addresses(started.elapsed()).await?;
    tokio::select! {
        ended = stack.keep_running(&console::print_step) => match ended? {},
        () = shutdowns.begun() => anyhow::bail!("a role stopped unexpectedly: see its log above"),
    }
}
