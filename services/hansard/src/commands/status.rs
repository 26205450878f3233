//! `hansard status`: how everything stands, and what of it needs an operator.

use std::io::Write as _;
use std::time::Duration;

use event_log::RecordConfig;

use super::stores::{ReadModelAddress, RecordAddress};
use crate::console;
use crate::exit::Exit;
use crate::status::roles::Role;
use crate::status::{Limits, Reader, Status, view};

/// How old the oldest message without a row may be, unless told otherwise, in seconds.
const LAG_MAX_SECONDS_DEFAULT: u64 = 30;
/// Longest that can be told, in seconds: a day.
const LAG_MAX_SECONDS_MAX: u64 = 24 * 60 * 60;

/// Show how the record, the read models, the projectors and the roles stand.
///
/// Reads NATS and Postgres themselves, and asks the roles at their operators' ports. Exit code 0: all is well; 6: something
/// needs an operator: a role, NATS or Postgres does not answer, the server is seen not to be durable, nobody projects a
/// partition, rows are late, a conversation is parked, a replica is behind, or the schema is not this program's.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard status
  hansard status --monitor-url http://127.0.0.1:8222 --lag-max-seconds 5
  hansard status --role writer=http://10.0.0.5:7311 --role gateway=http://10.0.0.6:7312
  hansard status --json | jq '.partitions[] | select(.lagSequences > 0)'")]
pub struct Args {
    #[command(flatten)]
    question: Question,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Whom to ask, and what is still well.
#[derive(Debug, clap::Args)]
pub struct Question {
    #[command(flatten)]
    record: RecordAddress,
    #[command(flatten)]
    read_model: ReadModelAddress,
    /// The nats-server's monitoring address, where it tells when it syncs.
    #[arg(
        long,
        value_name = "URL",
        env = "HANSARD_RECORD__MONITOR_URL",
        hide_env_values = true
    )]
    monitor_url: Option<String>,
    /// A role to ask, by a name and its operators' port; give it several times for several. Unless given, roles are looked
    /// for where they stand by default, and not missed when they are elsewhere.
    #[arg(long = "role", value_name = "NAME=URL", value_parser = Role::parse)]
    roles: Vec<Role>,
    /// Ask no role.
    #[arg(long, conflicts_with = "roles")]
    no_roles: bool,
    /// How old the oldest message without a row may be, in seconds.
    #[arg(
        long, value_name = "SECONDS", default_value_t = LAG_MAX_SECONDS_DEFAULT,
        value_parser = clap::value_parser!(u64).range(..=LAG_MAX_SECONDS_MAX)
    )]
    lag_max_seconds: u64,
    /// How many holes of a partition may be unexplained: messages that are known to have been removed by hand.
    #[arg(long, value_name = "HOLES", default_value_t = 0)]
    unexplained_max: u64,
}

impl Question {
    /// What asks it, and what is still well.
    ///
    /// # Errors
    /// The read models' URL is none.
    pub(super) fn reader(&self) -> anyhow::Result<(Reader, Limits)> {
        let config = RecordConfig {
            monitor_url: self.monitor_url.clone(),
            ..self.record.config("hansard-status")?
        };
        let roles = match (self.no_roles, self.roles.is_empty()) {
            (true, _) => None,
            (false, true) => Some(Role::defaults()),
            (false, false) => Some(self.roles.clone()),
        };
        let limits = Limits {
            lag_max: Duration::from_secs(self.lag_max_seconds),
            unexplained_max: self.unexplained_max,
        };
        Ok((Reader::new(config, self.read_model.open()?, roles), limits))
    }
}

/// Runs the command.
///
/// # Errors
/// The read models' URL is none. What does not answer is in the report.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let (mut reader, limits) = args.question.reader()?;
    let status = Status::of(&reader.read().await, limits);
    print(&status, args.json.then_some(AsJson))?;
    Ok(exit_of(&status))
}

/// Whether a report is for machines.
#[derive(Debug, Clone, Copy)]
pub(super) struct AsJson;

/// Prints a report.
pub(super) fn print(status: &Status, form: Option<AsJson>) -> anyhow::Result<()> {
    let mut out = console::out();
    match form {
        Some(AsJson) => writeln!(out, "{}", serde_json::to_string(status)?)?,
        None => view::write(&mut out, status)?,
    }
    Ok(())
}

/// What a report ends a command with.
pub(super) fn exit_of(status: &Status) -> Exit {
    if status.needs.is_empty() {
        Exit::Done
    } else {
        Exit::NeedsOperator
    }
}
