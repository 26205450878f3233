//! `hansard watch`: `hansard status` again and again.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::status::{AsJson, Question, exit_of, print};
use crate::console;
use crate::exit::Exit;
use crate::status::Status;

/// Longest pause that can be told, in seconds.
const INTERVAL_SECONDS_MAX: u64 = 3_600;
/// What moves a terminal to its beginning and clears it.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Keep `hansard status` on the screen.
///
/// On a terminal each report takes the place of the one before it; elsewhere they follow each other. Ends when interrupted, or
/// after --count reports, with the exit code of the last.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard watch
  hansard watch --interval 10 --json >> status.jsonl")]
pub struct Args {
    #[command(flatten)]
    question: Question,
    /// Seconds between two reports.
    #[arg(
        long, value_name = "SECONDS", default_value_t = 2,
        value_parser = clap::value_parser!(u64).range(1..=INTERVAL_SECONDS_MAX)
    )]
    interval: u64,
    /// How many reports; without an end unless given.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print JSON: a line each.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// As `hansard status`.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let (mut reader, limits) = args.question.reader()?;
    let form = args.json.then_some(AsJson);
    let mut ticks = interval(Duration::from_secs(args.interval));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut shown = 0_u64;
    loop {
        ticks.tick().await;
        let status = Status::of(&reader.read().await, limits);
        if form.is_none() {
            separate(&status, shown)?;
        }
        print(&status, form)?;
        shown += 1;
        if args.count == Some(shown) {
            return Ok(exit_of(&status));
        }
    }
}

/// What stands before a report: a cleared terminal, or an empty line; and its time.
fn separate(status: &Status, shown: u64) -> anyhow::Result<()> {
    let mut out = console::out();
    if out.is_terminal() {
        write!(out, "{CLEAR}")?;
    } else if shown > 0 {
        writeln!(out)?;
    }
    writeln!(out, "{:12}{}", "at", status.at)?;
    Ok(())
}
