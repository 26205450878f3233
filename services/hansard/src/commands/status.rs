//! `hansard status`: the health of the system, and what needs an operator.

use std::io::Write as _;
use std::time::Duration;

use event_log::RecordConfig;
use system_status::roles::Role;
use system_status::{LAG_MAX_SECONDS_DEFAULT, Limits, Reader, Status};

use super::stores::{ReadModelAddress, RecordAddress, ReplicaAddresses, ShardAddresses};
use crate::console::{self, AsJson};
use crate::exit::Exit;
use crate::status::{default_roles, view};

/// The maximum of `--lag-max-seconds`: a day.
const LAG_MAX_SECONDS_MAX: u64 = 24 * 60 * 60;

/// Show the health of the record, the read models, the projectors and the roles.
///
/// Reads NATS and Postgres directly, and the roles' admin listeners. Exit code 0: healthy; 6: something needs an operator: a
/// role, NATS or Postgres does not answer, the NATS server is not durable, a partition has no projector, rows lag too far behind,
/// a conversation is parked, a replica of NATS or Postgres lags, or the schema has another version than this program.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard status
  hansard status --monitor-url http://127.0.0.1:8222 --lag-max-seconds 5
  hansard status --role writer=http://10.0.0.5:7311 --role gateway=http://10.0.0.6:7312
  hansard status --json | jq '.partitions[] | select(.lagSequences > 0)'")]
pub(crate) struct Args {
    #[command(flatten)]
    options: StatusOptions,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What is read, and the limits of a healthy system.
#[derive(Debug, clap::Args)]
pub(crate) struct StatusOptions {
    #[command(flatten)]
    record: RecordAddress,
    #[command(flatten)]
    read_model: ReadModelAddress,
    #[command(flatten)]
    replicas: ReplicaAddresses,
    #[command(flatten)]
    shards: ShardAddresses,
    /// URL of the NATS server's monitoring port, which shows its sync settings.
    #[arg(long, value_name = "URL", env = "HANSARD_RECORD__MONITOR_URL")]
    #[arg(hide_env_values = true)]
    monitor_url: Option<String>,
    /// Name of a role and URL of its admin listener. Repeat the option for several. By default, the default ports of this
    /// machine are tried; a role that does not answer there is not reported.
    #[arg(long = "role", value_name = "NAME=URL", value_parser = Role::parse)]
    roles: Vec<Role>,
    /// Do not read any role.
    #[arg(long, conflicts_with = "roles")]
    no_roles: bool,
    /// Maximum age of the oldest message without a row, in seconds, at most 86,400.
    #[arg(
        long, value_name = "SECONDS", default_value_t = LAG_MAX_SECONDS_DEFAULT,
        value_parser = clap::value_parser!(u64).range(..=LAG_MAX_SECONDS_MAX)
    )]
    lag_max_seconds: u64,
    /// Maximum number of unexplained holes of a partition: messages that are known to have been removed by hand.
    #[arg(long, value_name = "HOLES", default_value_t = 0)]
    unexplained_max: u64,
}

impl StatusOptions {
    /// Creates the reader and the limits.
    pub(super) fn reader(&self) -> anyhow::Result<(Reader, Limits)> {
        let config = RecordConfig { monitor_url: self.monitor_url.clone(), ..self.record.config("hansard-status")? };
        let roles = match (self.no_roles, self.roles.is_empty()) {
            (true, _) => None,
            (false, true) => Some(default_roles()),
            (false, false) => Some(self.roles.clone()),
        };
        let limits =
            Limits { lag_max: Duration::from_secs(self.lag_max_seconds), unexplained_max: self.unexplained_max };
        let model = self.read_model.open()?;
        let reader = Reader::new(config, model.clone(), roles).with_replicas(&model, self.replicas.open()?);
        Ok((reader.with_shards(self.shards.open()?), limits))
    }
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let (mut reader, limits) = args.options.reader()?;
    let status = Status::from_readings(&reader.read().await, limits);
    print(&status, AsJson(args.json))
}

/// Prints a report. Returns the exit code for it.
pub(super) fn print(status: &Status, as_json: AsJson) -> anyhow::Result<Exit> {
    let mut out = console::out();
    if as_json.0 {
        writeln!(out, "{}", serde_json::to_string(status)?)?;
    } else {
        view::write(&mut out, status)?;
    }
    Ok(Exit::NeedsOperator.when(!status.needs.is_empty()))
}
