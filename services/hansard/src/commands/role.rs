//! `hansard writer`, `projector` and `gateway`: one role, as deployed.
//!
//! Settings come from defaults, then a TOML file, then `HANSARD_…` variables, then flags; every mistake of all of them
//! is told at once.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use event_log::RecordConfig;
use runtime::config::{CONFIG_PATH_VARIABLE, Checks, ConfigErrors, Sources, Validate};
use runtime::shutdown::Shutdown;
use runtime::telemetry::{self, TelemetryConfig};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::master_key_args::{MasterKeyArgs, VARIABLES};
use crate::exit::{Exit, UsageError};

/// How long everything may take to end, the drains among it; what is left then is cut.
pub const END_DEADLINE: Duration = Duration::from_secs(30);
/// Variables that other commands read, so that they are no unknown settings.
const RESERVED: [&str; 8] = [
    VARIABLES[0],
    VARIABLES[1],
    VARIABLES[2],
    "HANSARD_TOKEN",
    "HANSARD_AGENT",
    "HANSARD_WRITER_URL",
    "HANSARD_GATEWAY_URL",
    "HANSARD_CACHE_DIR",
];

/// Where a role's settings come from.
#[derive(Debug, Clone, clap::Args)]
pub struct Settings {
    /// A TOML file of settings.
    #[arg(long, env = CONFIG_PATH_VARIABLE, hide_env_values = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// One setting, such as `record.nats_url=nats://nats:4222`; beats file and environment. Give it several times for
    /// several. A value that reads as a number or a boolean is one; put a text that does in double quotes.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<(String, Value)>,
    #[command(flatten)]
    keys: MasterKeyArgs,
    /// Check the settings, and start nothing.
    #[arg(long)]
    check: bool,
    /// End when standard input does: for a parent process whose death must not leave this one behind.
    #[arg(long, hide = true)]
    end_with_stdin: bool,
}

/// Run a writer: it appends to the record and keeps the registry.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A variable's name is the setting's in upper case, with two underscores for a dot.

Examples:
  hansard writer --config /etc/hansard/writer.toml
  HANSARD_RECORD__NATS_URL=nats://nats:4222 hansard writer --set grpc.addr=0.0.0.0:7301")]
pub struct WriterArgs {
    #[command(flatten)]
    settings: Settings,
}

/// Run a projector: it keeps the read models.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A variable's name is the setting's in upper case, with two underscores for a dot.

Examples:
  hansard projector --config /etc/hansard/projector.toml
  hansard projector --set read_model.database_url=postgres://hansard@db/hansard")]
pub struct ProjectorArgs {
    #[command(flatten)]
    settings: Settings,
}

/// Run a gateway: it reads conversations and assembles contexts.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A variable's name is the setting's in upper case, with two underscores for a dot.

Examples:
  hansard gateway --config /etc/hansard/gateway.toml
  HANSARD_TELEMETRY__LOG_FORMAT=json hansard gateway --set grpc.addr=0.0.0.0:7302")]
pub struct GatewayArgs {
    #[command(flatten)]
    settings: Settings,
}

/// A role's settings, and those that every process has.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Process<T> {
    telemetry: TelemetryConfig,
    #[serde(flatten)]
    role: T,
}

impl<T: Default + Named> Default for Process<T> {
    fn default() -> Self {
        let service_name = format!("hansard-{}", T::NAME);
        let telemetry = TelemetryConfig {
            service_name,
            ..TelemetryConfig::default()
        };
        Self {
            telemetry,
            role: T::default(),
        }
    }
}

impl<T: Validate> Validate for Process<T> {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.section("telemetry", &self.telemetry);
        self.role.validate(checks);
    }
}

/// What a role is called, and how it reaches the record.
trait Named {
    const NAME: &'static str;

    fn record(&mut self) -> &mut RecordConfig;
}

impl Named for writer::WriterConfig {
    const NAME: &'static str = "writer";

    fn record(&mut self) -> &mut RecordConfig {
        &mut self.record
    }
}

impl Named for projector::ProjectorConfig {
    const NAME: &'static str = "projector";

    fn record(&mut self) -> &mut RecordConfig {
        &mut self.record
    }
}

impl Named for gateway::GatewayConfig {
    const NAME: &'static str = "gateway";

    fn record(&mut self) -> &mut RecordConfig {
        &mut self.record
    }
}

/// Runs a writer until it is told to end.
///
/// # Errors
/// The settings are wrong, or what it needs to start is missing.
pub async fn run_writer(args: WriterArgs) -> anyhow::Result<Exit> {
    serve(args.settings, async |config, shutdown: &Shutdown| {
        writer::start(config, shutdown).await?;
        Ok(())
    })
    .await
}

/// Runs a projector until it is told to end.
///
/// # Errors
/// The settings are wrong, or what it needs to start is missing.
pub async fn run_projector(args: ProjectorArgs) -> anyhow::Result<Exit> {
    serve(args.settings, async |config, shutdown: &Shutdown| {
        projector::start(config, shutdown).await?;
        Ok(())
    })
    .await
}

/// Runs a gateway until it is told to end.
///
/// # Errors
/// The settings are wrong, or what it needs to start is missing.
pub async fn run_gateway(args: GatewayArgs) -> anyhow::Result<Exit> {
    serve(args.settings, async |config, shutdown: &Shutdown| {
        gateway::start(config, shutdown).await?;
        Ok(())
    })
    .await
}

async fn serve<T>(
    settings: Settings,
    start: impl AsyncFnOnce(T, &Shutdown) -> anyhow::Result<()>,
) -> anyhow::Result<Exit>
where
    T: Serialize + DeserializeOwned + Default + Validate + Named,
{
    let mut config: Process<T> = load(&settings, Sources::new().environment())?;
    config.role.record().master_keys = settings.keys.read()?;
    if settings.check {
        return Ok(Exit::Done);
    }
    let _telemetry = telemetry::init(&config.telemetry)?;
    let shutdown = Shutdown::new();
    shutdown.listen_for_signals()?;
    if settings.end_with_stdin {
        end_with_stdin(&shutdown);
    }
    let role = shutdown.child();
    tokio::select! {
        started = start(config.role, &role) => started?,
        // A signal while it starts: there is nothing to drain yet.
        () = shutdown.begun() => return Ok(Exit::Done),
    }
    role.begun().await;
    let told = shutdown.has_begun();
    role.wait(END_DEADLINE).await?;
    anyhow::ensure!(told, "the {} stopped by itself; its log says why", T::NAME);
    Ok(Exit::Done)
}

fn load<T>(settings: &Settings, sources: Sources) -> Result<Process<T>, ConfigErrors>
where
    T: Serialize + DeserializeOwned + Default + Validate + Named,
{
    let sources = sources
        .file(settings.config.clone())
        .reserved(&RESERVED)
        .flags(&nested(&settings.set));
    runtime::config::load(&sources)
}

fn end_with_stdin(shutdown: &Shutdown) {
    let ending = shutdown.clone();
    tokio::task::spawn_blocking(move || {
        // Whatever comes is ignored; an error is an end too.
        drop(io::copy(&mut io::stdin().lock(), &mut io::sink()));
        ending.begin();
    });
}

/// Reads `KEY=VALUE`.
fn setting(text: &str) -> Result<(String, Value), UsageError> {
    let (key, value) = text
        .split_once('=')
        .filter(|(key, _)| !key.is_empty())
        .ok_or_else(|| UsageError("is not KEY=VALUE".to_owned()))?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    Ok((key.to_owned(), value))
}

/// Dotted keys as an object of objects; the last of two that disagree wins.
fn nested(settings: &[(String, Value)]) -> Value {
    let mut root = Value::Object(Map::new());
    for (key, value) in settings {
        let mut place = &mut root;
        for name in key.split('.') {
            if !place.is_object() {
                *place = Value::Object(Map::new());
            }
            let Value::Object(members) = place else { break };
            place = members.entry(name).or_insert(Value::Null);
        }
        *place = value.clone();
    }
    root
}

#[cfg(test)]
mod tests;
