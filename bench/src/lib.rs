//! Measures a running stack over gRPC, and in the same run its baselines: NATS and Postgres alone.
//!
//! This is a separate program, not part of the product's binary. The roles of its own stack are processes of this executable,
//! which runs the product when it is called `hansard`, or of the binary that `--program` names.
//!
//! Both sides of a comparison alternate, so that other load on the machine affects both; a figure is the median of the ratios
//! of all rounds. [`baseline`] is the only module outside `event-log` and `read-model` that uses NATS and Postgres
//! directly.

pub mod addresses;
pub mod baseline;
mod command;
pub mod latency;
pub mod own_stack;
pub mod pace;
pub mod print;
pub mod report;
pub mod role_process;
mod rounds;
mod setup;
mod suites;
pub mod target;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use hansard::progress::{Length, Progress};
use report::Report;
use target::Target;

/// The program name under which this executable runs the product.
const PRODUCT: &str = "hansard";

/// Runs the program; the first argument is the program name.
pub fn main_with_args(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter().peekable();
    if arguments.peek().is_some_and(|name| name == PRODUCT) {
        return hansard::main_with_args(arguments);
    }
    hansard::run_program(arguments, command::run)
}

/// A suite of measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Suite {
    /// Acknowledged commits by unary calls, compared with raw publishes.
    Unary,
    /// Acknowledged commits by streams, compared with raw publishes.
    Stream,
    /// Projection of a backlog, compared with plain inserts.
    Projection,
    /// Lag of the rows at half the load of streams.
    Lag,
    /// Fresh contexts of 20 messages, compared with a plain select of the same rows.
    Context,
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
    /// 200 concurrent streamed answers, compared with the model server; needs --own-stack.
    Streams,
}

/// The plan of a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The suites, in order.
    pub suites: Vec<Suite>,
    /// Number of writing connections.
    pub writers: usize,
    /// Concurrent commits over all connections; equal for the baseline.
    pub in_flight: usize,
    /// Events per commit.
    pub events_per_commit: usize,
    /// Bytes of text per event.
    pub event_bytes: usize,
    /// Conversations to write to; at least `in_flight`.
    pub conversations: usize,
    /// Concurrent reads.
    pub readers: usize,
    /// Rounds per comparison.
    pub rounds: usize,
    /// Duration of each measurement.
    pub duration: Duration,
    /// Conversations of the long list.
    pub list_conversations: usize,
    /// Events of the projected backlog.
    pub backlog_events: usize,
}

/// Warm-up time before each measurement.
const WARM_UP: Duration = Duration::from_secs(1);

/// Runs the suites in order.
///
/// # Errors
/// A call fails: figures of a failing stack are invalid.
pub async fn run(plan: &Plan, target: &Target) -> anyhow::Result<Report> {
    let mut report = Report::begin(plan);
    for suite in &plan.suites {
        let progress = Progress::begin(suites::title(*suite), Length::Unknown);
        let outcome = suites::run(*suite, plan, target, &mut report).await;
        let result = if outcome.is_ok() {
            "measured"
        } else {
            "failed"
        };
        progress.finish(result);
        outcome?;
    }
    Ok(report)
}
