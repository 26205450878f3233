//! `hansard writer`, `hansard projector` and `hansard gateway`: one role as deployed.
//!
//! Settings come from defaults, then a TOML file, then `HANSARD_…` variables, then flags. All errors of all sources are
//! reported together.

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

/// The deadline of a shutdown, including the drains. What still runs then is aborted.
pub const END_DEADLINE: Duration = Duration::from_secs(30);
/// Variables of other commands, which are not reported as unknown settings.
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

/// The sources of a role's settings.
#[derive(Debug, Clone, clap::Args)]
pub struct Settings {
    /// TOML file with settings.
    #[arg(long, env = CONFIG_PATH_VARIABLE, hide_env_values = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// One setting, such as `record.nats_url=nats://nats:4222`; overrides file and environment. Repeat the option for several
    /// settings. A value is parsed as a number or boolean if possible; put a text such as 5 or true in double quotes.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    set: Vec<(String, Value)>,
    #[command(flatten)]
    keys: MasterKeyArgs,
    /// Check the settings and exit.
    #[arg(long)]
    check: bool,
    /// Exit when standard input closes, so that the process ends with its parent.
    #[arg(long, hide = true)]
    end_with_stdin: bool,
}

/// Run a writer, which appends to the record and serves the registry.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Environment variables: HANSARD_ and the setting in upper case, with two underscores for each dot.

Examples:
  hansard writer --config /etc/hansard/writer.toml
  HANSARD_RECORD__NATS_URL=nats://nats:4222 hansard writer --set grpc.addr=0.0.0.0:7301")]
pub struct WriterArgs {
    #[command(flatten)]
    settings: Settings,
}

/// Run a projector, which writes the rows of the read models.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Environment variables: HANSARD_ and the setting in upper case, with two underscores for each dot.

Examples:
  hansard projector --config /etc/hansard/projector.toml
  hansard projector --set read_model.database_url=postgres://hansard@db/hansard")]
pub struct ProjectorArgs {
    #[command(flatten)]
    settings: Settings,
}

/// Run a gateway, which answers reads, assembles contexts, runs models and serves HTTP.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Environment variables: HANSARD_ and the setting in upper case, with two underscores for each dot.

Examples:
  hansard gateway --config /etc/hansard/gateway.toml
  HANSARD_TELEMETRY__LOG_FORMAT=json hansard gateway --set grpc.addr=0.0.0.0:7302")]
pub struct GatewayArgs {
    #[command(flatten)]
    settings: Settings,
}

/// The settings of a role and of its process.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Process<T> {
    telemetry: TelemetryConfig,
    #[serde(flatten)]
    role: T,
}

impl<T: Default + RoleConfig> Default for Process<T> {
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

/// The configuration of a role.
trait RoleConfig {
    const NAME: &'static str;

    fn record(&mut self) -> &mut RecordConfig;
}

impl RoleConfig for writer::WriterConfig {
    const NAME: &'static str = "writer";

    fn record(&mut self) -> &mut RecordConfig {
        &mut self.record
    }
}

impl RoleConfig for projector::ProjectorConfig {
    const NAME: &'static str = "projector";

    fn record(&mut self) -> &mut RecordConfig {
        &mut self.record
    }
}

impl RoleConfig for gateway::GatewayConfig {
    const NAME: &'static str = "gateway";

    fn record(&mut self) -> &mut RecordConfig {
        &mut self.record
    }
}

/// Runs a writer until a shutdown signal.
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

/// Runs a projector until a shutdown signal.
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

/// Runs a gateway until a shutdown signal.
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
    T: Serialize + DeserializeOwned + Default + Validate + RoleConfig,
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
        // A signal during the start: there is nothing to drain yet.
        () = shutdown.begun() => return Ok(Exit::Done),
    }
    role.begun().await;
    let was_signalled = shutdown.has_begun();
    role.wait(END_DEADLINE).await?;
    let name = T::NAME;
    anyhow::ensure!(
        was_signalled,
        "the {name} stopped unexpectedly: see its log"
    );
    Ok(Exit::Done)
}

fn load<T>(settings: &Settings, sources: Sources) -> Result<Process<T>, ConfigErrors>
where
    T: Serialize + DeserializeOwned + Default + Validate + RoleConfig,
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
        // The input is ignored; an error also ends it.
        drop(io::copy(&mut io::stdin().lock(), &mut io::sink()));
        ending.begin();
    });
}

/// Parses `KEY=VALUE`.
fn setting(text: &str) -> Result<(String, Value), UsageError> {
    let (key, value) = text
        .split_once('=')
        .filter(|(key, _)| !key.is_empty())
        .ok_or_else(|| UsageError("must be KEY=VALUE".to_owned()))?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    Ok((key.to_owned(), value))
}

/// Converts dotted keys to nested objects. The last value of a key wins.
fn nested(settings: &[(String, Value)]) -> Value {
    let mut root = Value::Object(Map::new());
    for (key, value) in settings {
        let mut node = &mut root;
        for name in key.split('.') {
            if !node.is_object() {
                *node = Value::Object(Map::new());
            }
            let Value::Object(members) = node else { break };
            node = members.entry(name).or_insert(Value::Null);
        }
        *node = value.clone();
    }
    root
}

#[cfg(test)]
mod tests;
