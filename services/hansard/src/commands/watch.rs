//! `hansard watch`: repeats `hansard status`.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use system_status::Status;
use tokio::time::{MissedTickBehavior, interval};

use super::status::{StatusOptions, print};
use crate::console::{self, AsJson};
use crate::exit::Exit;

/// The maximum of `--interval`, in seconds.
const INTERVAL_SECONDS_MAX: u64 = 3_600;
/// The escape sequence that clears a terminal.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Repeat `hansard status`.
///
/// On a terminal, each report replaces the previous one; otherwise reports are appended. Ends when interrupted, or after --count
/// reports with the exit code of the last one.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard watch
  hansard watch --interval 10 --json >> status.jsonl")]
pub(crate) struct Args {
    #[command(flatten)]
    options: StatusOptions,
    /// Seconds between two reports, 1 to 3,600.
    #[arg(
        long, value_name = "SECONDS", default_value_t = 2,
        value_parser = clap::value_parser!(u64).range(1..=INTERVAL_SECONDS_MAX)
    )]
    interval: u64,
    /// Number of reports; by default unlimited.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print JSON, one line per report.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let (mut reader, limits) = args.options.reader()?;
    let mut ticks = interval(Duration::from_secs(args.interval));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut shown = 0_u64;
    loop {
        ticks.tick().await;
        let status = Status::from_readings(&reader.read().await, limits);
        if !args.json {
            separate(&status, shown)?;
        }
        let exit = print(&status, AsJson(args.json))?;
        shown += 1;
        if args.count == Some(shown) {
            return Ok(exit);
        }
    }
}

/// Clears the terminal or prints an empty line, then prints the time of the report.
fn separate(status: &Status, shown: u64) -> anyhow::Result<()> {
    let mut terminal = console::styled();
    if terminal.is_terminal() {
        write!(terminal, "{CLEAR}")?;
    } else if shown > 0 {
        writeln!(terminal)?;
    }
    writeln!(terminal, "{:12}{}", "at", status.at)?;
    Ok(())
}
