//! Measures a running stack from outside, over gRPC, and next to it, in the same run, what its parts can do by
//! themselves: the floors.
//!
//! A program of its own, not part of the product's binary. The roles of its own stack are processes of this executable,
//! which is the product when it is called `hansard`; or of the binary that `--program` names.
//!
//! Both sides of a comparison take turns, so that a noisy machine disturbs both; a figure is the median of the turns'
//! ratios. The floors use NATS and Postgres themselves: [`floor`] is the only place outside `event-log` and `read-model`
//! that does, and nothing else may.

pub mod addresses;
mod command;
pub mod floor;
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

/// The name under which this executable runs a role of the product.
const PRODUCT: &str = "hansard";

/// Runs the program with these arguments, its own name the first of them.
pub fn main_with_args(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter().peekable();
    if arguments.peek().is_some_and(|name| name == PRODUCT) {
        return hansard::main_with_args(arguments);
    }
    hansard::run_program(arguments, command::run)
}

/// What to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Suite {
    /// Acknowledged commits by unary calls, against raw publishes.
    Unary,
    /// Acknowledged commits by streams, against raw publishes.
    Stream,
    /// How fast rows follow a backlog, against a bare insert.
    Projection,
    /// How late rows are at half the streams' load.
    Lag,
    /// Fresh contexts of 20 messages, against a bare select of the same rows.
    Context,
    /// Contexts of forks of depth 8, against conversations with as many messages of their own.
    Forks,
    /// Contexts and appends of conversations with 10,000 messages, against 10.
    Length,
    /// Pages of a long list of conversations, against a short one.
    List,
    /// Prefixes that successive contexts share, against the last 20 messages.
    Prefix,
    /// Contexts in each form, against the messages as they are kept.
    Forms,
    /// 200 answers at once, against the model server that gives them; needs --own-stack.
    Streams,
}

/// How to measure.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What to measure, in this order.
    pub suites: Vec<Suite>,
    /// Connections that write.
    pub writers: usize,
    /// Commits on their way at once, over all connections; the floor has as many.
    pub in_flight: usize,
    /// Events of each commit.
    pub events_per_commit: usize,
    /// Bytes of text of each event.
    pub event_bytes: usize,
    /// Conversations that are written to; at least as many as are in flight.
    pub conversations: usize,
    /// Reads on their way at once.
    pub readers: usize,
    /// Turns of each side.
    pub rounds: usize,
    /// How long one turn is measured.
    pub duration: Duration,
    /// Conversations of the long list.
    pub list_conversations: usize,
    /// Events of the backlog that is projected.
    pub backlog_events: usize,
}

/// How long each turn runs before it is measured.
const WARM_UP: Duration = Duration::from_secs(1);

/// Measures one suite after the other.
///
/// # Errors
/// A call fails: figures of a stack that fails say nothing.
pub async fn run(plan: &Plan, target: &Target) -> anyhow::Result<Report> {
    let mut report = Report::begin(plan);
    for suite in &plan.suites {
        let progress = Progress::begin(suites::title(*suite), Length::Unknown);
        let outcome = suites::run(*suite, plan, target, &mut report).await;
        progress.finish(if outcome.is_ok() {
            "measured"
        } else {
            "failed"
        });
        outcome?;
    }
    Ok(report)
}
