//! `hansard capacity`: what a load needs, and what it exhausts first.

use std::io::Write as _;

use clap::builder::PossibleValuesParser;

use crate::capacity::{Load, Need, Plan, Server};
use crate::console;
use crate::exit::{Exit, UsageError};
use crate::progress::grouped;
use crate::table;

const GIB: u64 = 1_024 * 1_024 * 1_024;

/// Print the servers, memory and disks that a load needs, and what it exhausts first.
///
/// A model from measured unit costs, with servers that are half busy; measure your own load before you buy. Reads nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard capacity --conversations 10000000 --commits-per-second 500
  hansard capacity --conversations 100000000 --hibernated 95000000 --commits-per-second 500
  hansard capacity --conversations 1000000000 --commits-per-second 20000 --contexts-per-second 5000 --cores 32 --json")]
pub(crate) struct Args {
    /// Conversations of the record.
    #[arg(long, value_name = "COUNT")]
    conversations: u64,
    /// Those of them that are hibernated (`archive run --hibernate`).
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    hibernated: u64,
    /// Commits of two events per second, at the peak.
    #[arg(long, value_name = "COUNT")]
    commits_per_second: u64,
    /// Contexts of 20 messages per second, at the peak; by default as many as commits.
    #[arg(long, value_name = "COUNT")]
    contexts_per_second: Option<u64>,
    /// Events of a conversation, on average.
    #[arg(long, value_name = "COUNT", default_value_t = 40)]
    events_per_conversation: u64,
    /// Bytes of an event, on average.
    #[arg(long, value_name = "BYTES", default_value_t = 350)]
    event_bytes: u64,
    /// Replicas of each partition.
    #[arg(long, default_value = "3", value_parser = PossibleValuesParser::new(["1", "3", "5"]))]
    replicas: String,
    /// Processors of a server.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1_024))]
    cores: u64,
    /// Memory of a server, in GiB.
    #[arg(long, value_name = "GIB", default_value_t = 32, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    memory: u64,
    /// Disk of a server, in GiB.
    #[arg(long, value_name = "GIB", default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    disk: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.hibernated > args.conversations {
        let (hibernated, all) = (args.hibernated, args.conversations);
        let why = format!("--hibernated is {hibernated}, more than the {all} of --conversations");
        return Err(UsageError(why).into());
    }
    let load = Load {
        conversations: args.conversations,
        hibernated: args.hibernated,
        events_per_conversation: args.events_per_conversation,
        event_bytes: args.event_bytes,
        commits_per_second: args.commits_per_second,
        contexts_per_second: args.contexts_per_second.unwrap_or(args.commits_per_second),
        replicas: args.replicas.parse()?,
    };
    let server = Server { cores: args.cores, memory_gib: args.memory, disk_gib: args.disk };
    let plan = Plan::of(&load, &server);
    let mut out = console::out();
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&plan)?)?;
        return Ok(Exit::Done);
    }
    let rows: Vec<_> = plan.needs.iter().map(row).collect();
    let header = ["ROLE", "SERVERS", "BUSY CORES", "MEMORY GIB", "DISK GIB"];
    table::write(&mut out, header, &rows)?;
    let bottleneck = plan.bottleneck;
    let percent = grouped(bottleneck.at_percent);
    writeln!(out, "\nfirst bottleneck: {}, at {percent}% of this load", bottleneck.resource)?;
    Ok(Exit::Done)
}

fn row(need: &Need) -> [String; 5] {
    let tenths = |value: u64, unit: u64| {
        let tenths = value.saturating_mul(10).div_ceil(unit);
        format!("{}.{}", grouped(tenths / 10), tenths % 10)
    };
    [
        need.role.name().to_owned(),
        need.servers.to_string(),
        tenths(need.millicores, 1_000),
        tenths(need.memory_bytes, GIB),
        tenths(need.disk_bytes, GIB),
    ]
}
