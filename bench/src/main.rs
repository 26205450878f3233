//! Measures a running stack over gRPC, and in the same run its baselines: NATS and Postgres alone.
//!
//! This is a separate program, not part of the product's binary. The roles of its own stack are processes of this executable,
//! which runs the product when it is called `hansard`, or of the binary that `--program` names.
//!
//! Both sides of a comparison alternate, so that other load on the machine affects both; a figure is the median of the ratios
//! of all rounds. [`baseline`] is the only module outside `event-log` and `read-model` that uses NATS and Postgres
//! directly.

mod addresses;
mod baseline;
mod command;
mod cpu;
mod latency;
mod own_stack;
mod pace;
mod print;
mod report;
mod role_process;
mod rounds;
mod setup;
mod suites;
mod target;
mod watch;

use std::ops::RangeBounds;
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::TypedValueParser;
use hansard::progress::{Length, Progress};
use pace::ClosedLoop;
use report::Report;
use target::Target;

/// The program name under which this executable runs the product.
const PRODUCT: &str = "hansard";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().peekable();
    if arguments.peek().is_some_and(|name| name == PRODUCT) {
        return hansard::main_with_args(arguments);
    }
    hansard::run_program(arguments, command::run)
}

/// A suite of measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Suite {
    /// Acknowledged commits by unary calls, compared with raw publishes and plain inserts.
    Append,
    /// Acknowledged commits by streams, compared with raw publishes.
    Stream,
    /// Projection of a backlog, compared with plain inserts.
    Projection,
    /// Lag of the rows at half the load of streams.
    Lag,
    /// Fresh contexts of 20 messages, compared with a plain select of the same rows.
    Contexts,
    /// Contexts of forks of depth 8, compared with conversations of as many own messages.
    Forks,
    /// Contexts and appends of conversations with 10,000 messages, compared with 10.
    Length,
    /// Pages of a long list of conversations, compared with a short list.
    List,
    /// Common prefixes of successive contexts, compared with the last 20 messages.
    Prefix,
    /// Contexts in each format, compared with the stored messages.
    Forms,
    /// Token counts of one long word on one core, compared with as many short words.
    Tokens,
    /// 200 concurrent streamed answers, compared with the model server; needs --own-stack.
    Streams,
    /// First tokens of recorded chat completions, compared with the model server; needs --own-stack.
    Completions,
    /// Items of OpenAI's Conversations over HTTP, compared with events over gRPC; needs --own-stack.
    Items,
    /// Appends and reads of other tools; installs them, and runs only if it is named.
    Peers,
}

/// The load of a run.
#[derive(Debug, Clone, clap::Args)]
struct Plan {
    /// Number of writing connections.
    #[arg(long, default_value_t = 4, value_parser = number(1..=1_000))]
    writers: usize,
    /// Concurrent commits over all connections; equal for the baseline. The suite append measures each, the others the
    /// largest.
    #[arg(
        long, value_name = "COMMITS", default_value = "1,32,256", value_delimiter = ',',
        value_parser = number(1..=4_096)
    )]
    in_flight: Vec<usize>,
    /// Events per commit.
    #[arg(long, default_value_t = 1, value_parser = number(1..=500))]
    events_per_commit: usize,
    /// Bytes of text per event.
    #[arg(long, default_value_t = 200, value_parser = number(0..=400_000))]
    event_bytes: usize,
    /// Conversations to write to; at least as many as `--in-flight`.
    #[arg(long, default_value_t = 4_096, value_parser = number(0..))]
    conversations: usize,
    /// Concurrent reads. The suite contexts measures each, the others the first.
    #[arg(
        long, value_name = "READS", default_value = "1,32", value_delimiter = ',',
        value_parser = number(1..=100)
    )]
    readers: Vec<usize>,
    /// Rounds per comparison.
    #[arg(long, default_value_t = 3, value_parser = number(1..=100))]
    rounds: usize,
    /// Duration of each measurement, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds())]
    duration: Duration,
    /// Conversations of the long list.
    #[arg(long, default_value_t = 100_000, value_parser = number(0..))]
    list_conversations: usize,
    /// Events of the projected backlog.
    #[arg(long, default_value_t = 300_000, value_parser = number(0..))]
    backlog_events: usize,
}

impl Plan {
    /// The largest number of concurrent commits.
    fn in_flight_max(&self) -> usize {
        self.in_flight.iter().copied().max().unwrap_or(1)
    }

    /// The number of concurrent reads of the suites that measure one.
    fn readers(&self) -> usize {
        self.readers.first().copied().unwrap_or(1)
    }

    /// The largest number of concurrent reads.
    fn readers_max(&self) -> usize {
        self.readers.iter().copied().max().unwrap_or(1)
    }

    /// A load of the planned duration.
    fn closed_loop(&self, in_flight: usize) -> ClosedLoop {
        ClosedLoop { in_flight, warm_up: WARM_UP, duration: self.duration }
    }
}

/// Parses a number of 32 bits within `range`.
fn number(range: impl RangeBounds<i64>) -> impl TypedValueParser<Value = usize> {
    clap::value_parser!(u32).range(range).try_map(usize::try_from)
}

/// Parses a duration of at most an hour.
fn seconds() -> impl TypedValueParser<Value = Duration> {
    let seconds = clap::value_parser!(u64).range(1..=3_600);
    seconds.map(Duration::from_secs)
}

/// Warm-up time before each measurement.
const WARM_UP: Duration = Duration::from_secs(1);

/// Runs the suites in order. A failed call ends the run: figures of a failing stack are invalid.
async fn run(suites: &[Suite], plan: &Plan, target: &Target) -> anyhow::Result<Report> {
    let mut report = Report::begin(plan);
    for suite in suites {
        let progress = Progress::begin(suites::title(*suite), Length::Unknown);
        let outcome = suites::run(*suite, plan, target, &mut report).await;
        progress.finish(outcome.as_ref().map_or("failed", |()| "measured"));
        outcome?;
    }
    Ok(report)
}
