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
const RESERVED: [&str; 10] = [
    VARIABLES[0],
    VARIABLES[1],
    VARIABLES[2],
    VARIABLES[3],
    "HANSARD_TOKEN",
    "HANSARD_AGENT",
    "HANSARD_WRITER_URL",
    "HANSARD_GATEWAY_URL",
    "HANSARD_CACHE_DIR",
    "HANSARD_POSTGRES_BIN",
];

/// The sources of a role's settings.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Settings {
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

/// The settings of a role and of its process.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Process<T> {
    telemetry: TelemetryConfig,
    #[serde(flatten)]
    role: T,
}

impl<T: RoleConfig> Default for Process<T> {
    fn default() -> Self {
        Self { telemetry: TelemetryConfig::default(), role: T::default() }
    }
}

impl<T: Validate> Validate for Process<T> {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.section("telemetry", &self.telemetry);
        self.role.validate(checks);
    }
}

/// The configuration of a role.
pub(crate) trait RoleConfig: Serialize + DeserializeOwned + Default + Validate {
    const NAME: &'static str;

    fn record(&mut self) -> &mut RecordConfig;

    async fn start(self, shutdown: &Shutdown) -> anyhow::Result<()>;
}

impl RoleConfig for writer::WriterConfig {
    const NAME: &'static str = "writer";

    fn record(&mut self) -> &mut RecordConfig {
        &mut self.record
    }

    async fn start(self, shutdown: &Shutdown) -> anyhow::Result<()> {
        Ok(writer::start(self, shutdown).await.map(drop)?)
    }
}

impl RoleConfig for projector::ProjectorConfig {
    const NAME: &'static str = "projector";

    fn record(&mut self) -> &mut RecordConfig {
        &mut self.record
    }

    async fn start(self, shutdown: &Shutdown) -> anyhow::Result<()> {
        Ok(projector::start(self, shutdown).await.map(drop)?)
    }
}

impl RoleConfig for gateway::GatewayConfig {
    const NAME: &'static str = "gateway";

    fn record(&mut self) -> &mut RecordConfig {
        &mut self.record
    }

    async fn start(self, shutdown: &Shutdown) -> anyhow::Result<()> {
        Ok(gateway::start(self, shutdown).await.map(drop)?)
    }
}

/// Runs a role until a shutdown signal.
pub(crate) async fn run<T: RoleConfig>(settings: Settings) -> anyhow::Result<Exit> {
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
        started = config.role.start(&role) => started?,
        // A signal during the start: there is nothing to drain yet.
        () = shutdown.begun() => return Ok(Exit::Done),
    }
    role.begun().await;
    let was_signalled = shutdown.has_begun();
    role.wait(END_DEADLINE).await?;
    let stopped = format!("the {} stopped unexpectedly: see its log", T::NAME);
    anyhow::ensure!(was_signalled, stopped);
    Ok(Exit::Done)
}

fn load<T: RoleConfig>(settings: &Settings, sources: Sources) -> Result<Process<T>, ConfigErrors> {
    let sources = sources.file(settings.config.clone()).reserved(&RESERVED).flags(&nested(&settings.set));
    let mut process: Process<T> = runtime::config::load(&sources)?;
    process.telemetry.service_name = format!("hansard-{}", T::NAME);
    Ok(process)
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
    let setting = text.split_once('=').filter(|(key, _)| !key.is_empty());
    let (key, value) = setting.ok_or_else(|| UsageError("must be KEY=VALUE".to_owned()))?;
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
