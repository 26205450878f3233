//! `hansard dev`: everything on this machine, in one process but for NATS and Postgres.
//!
//! The life of the process: servers, roles, a demo tenant, a first part of real conversations, one context of them, then
//! it stays up. However it ends, the roles drain first and the servers stop last; `devstack` stops them too when this
//! process is killed.

mod args;
mod demo;
mod first_part;
mod gateway_token;
mod guide;
mod master_key;
mod model_server;
mod model_server_arg;
mod ports;
mod roles;

use std::io::Write as _;
use std::time::{Duration, Instant};

use devstack::{ServerChoice, Stack, StackConfig, StackError};
use models::ModelServersConfig;
use runtime::shutdown::Shutdown;
use runtime::telemetry::{self, TelemetryConfig};

pub use args::Args;

use crate::console;
use crate::exit::Exit;
use guide::Guide;
use roles::Ends;

/// How long the roles may take to drain.
const DRAIN_DEADLINE: Duration = Duration::from_secs(15);

/// Runs the command.
///
/// # Errors
/// A server or a role does not start, or the data set cannot be imported.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let begun = Instant::now();
    let _telemetry = telemetry::init(&TelemetryConfig {
        log_filter: args.log_filter.clone(),
        ..TelemetryConfig::default()
    })?;
    let models = model_server::configured(&args)?;
    let shutdown = Shutdown::new();
    shutdown.listen_for_signals()?;
    let mut stack = tokio::select! {
        stack = start_servers(&args) => stack?,
        () = shutdown.begun() => return Ok(Exit::Done),
    };
    let ends = Ends::default();
    let outcome = tokio::select! {
        () = shutdown.begun() => Ok(()),
        outcome = live(&args, models, &mut stack, &ends, begun) => outcome,
    };
    // What fails once a signal came is the end that was asked for.
    let told = shutdown.has_begun();
    let drained = ends.bring(DRAIN_DEADLINE).await;
    stack.stop().await;
    if !told {
        outcome?;
    }
    drained?;
    Ok(Exit::Done)
}

async fn start_servers(args: &Args) -> Result<Stack, StackError> {
    let choice = |url: &Option<String>, port| match url {
        Some(url) => ServerChoice::Url(url.clone()),
        None => ServerChoice::Managed { port: Some(port) },
    };
    let config = StackConfig {
        nats: choice(&args.nats_url, args.port_base.nats()),
        postgres: choice(&args.database_url, args.port_base.postgres()),
        ..StackConfig::new(args.data_dir()?)
    };
    devstack::start(config, &tell).await
}

/// Runs until it is dropped, or, with `--once`, until the context is printed.
async fn live(
    args: &Args,
    models: ModelServersConfig,
    stack: &mut Stack,
    ends: &Ends,
    begun: Instant,
) -> anyhow::Result<()> {
    let roles = roles::start(args, models.clone(), stack, ends).await?;
    let data_dir = args.data_dir()?;
    let mut demo = demo::prepare(&roles.record, &data_dir).await?;
    model_server::choose(&roles.record, args, &models).await?;
    first_part::import(args.import, &roles, &mut demo).await?;
    let guide = Guide {
        roles: &roles,
        stack,
        demo: demo.settings(),
        data_dir: &data_dir,
        ports: args.port_base,
    };
    guide.show_context().await?;
    if args.once {
        return Ok(());
    }
    guide.show_addresses(begun.elapsed())?;
    tokio::select! {
        ended = stack.keep_running(&tell) => match ended? {},
        () = ends.begun() => anyhow::bail!("a role stopped by itself; its log says why"),
    }
}

/// Steps of the servers are for people who wait.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that devstack calls"
)]
fn tell(step: devstack::Step) {
    drop(writeln!(console::err(), "{step}"));
}
