//! Sends the conversations of a source: many concurrently, the requests of each in order.
//!
//! The number of conversations in flight bounds memory and load. A rejected conversation is reported, and the import continues;
//! an error that affects every conversation (no access, no service) ends the import.

use std::time::Instant;

use futures::StreamExt as _;
use serde::Serialize;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;

use super::plan::{Destination, Plan, plan};
use super::source::{Entries, Entry, SourceError};
use crate::client::{AppendStream, Failure, retrying};

/// The maximum number of conversations in flight.
pub(crate) const CONVERSATIONS_IN_FLIGHT: usize = 256;

/// The result of an import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// Conversations that are completely in the record.
    pub(crate) conversations: u64,
    /// Those of them to which nothing was added, because an earlier import had completed them.
    pub(crate) already_there: u64,
    /// Messages of the conversations.
    pub(crate) messages: u64,
    /// Commits that this import appended.
    commits: u64,
    /// Lines or conversations that were rejected.
    pub(crate) refused: u64,
    /// Values that are stored in another form.
    remarks: u64,
    pub(crate) seconds: f64,
}

/// A step of an import.
#[derive(Debug)]
pub(crate) enum Step<'a> {
    /// A conversation is in the record or was rejected: the counts so far, and the bytes of the source that have been read.
    Completed { summary: &'a Summary, bytes_read: u64 },
    /// A value of a line or conversation, whose number counts from 1, was rejected or is stored in another form: the path of
    /// the value, and the error or the form, without content.
    Noted { number: u64, what: String },
}

/// An error that ends an import. What was sent stays; a repeated import resumes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImportError {
    /// The source cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The write service rejects all commands or does not answer.
    #[error("the write service failed: {0}")]
    Service(Failure),
}

/// Sends every entry and reports each step.
pub(crate) async fn run(
    entries: Entries,
    stream: &AppendStream,
    destination: &Destination,
    mut report: impl FnMut(Step<'_>),
) -> Result<Summary, ImportError> {
    let started = Instant::now();
    let mut summary = Summary::default();
    let mut completed = ReceiverStream::new(entries)
        .map(|entry| import_entry(entry, stream, destination))
        .buffer_unordered(CONVERSATIONS_IN_FLIGHT);
    while let Some(outcome) = completed.next().await {
        let outcome = outcome?;
        let number = outcome.number;
        for what in outcome.remarks {
            summary.remarks += 1;
            report(Step::Noted { number, what });
        }
        match outcome.imported {
            Ok(imported) => summary.add(&imported),
            Err(what) => {
                summary.refused += 1;
                report(Step::Noted { number, what });
            }
        }
        summary.seconds = started.elapsed().as_secs_f64();
        report(Step::Completed { summary: &summary, bytes_read: outcome.bytes_read });
    }
    summary.seconds = started.elapsed().as_secs_f64();
    Ok(summary)
}

impl Summary {
    fn add(&mut self, imported: &Imported) {
        self.conversations += 1;
        self.already_there += u64::from(imported.commits == 0);
        self.messages += imported.messages;
        self.commits += imported.commits;
    }
}

struct Outcome {
    number: u64,
    bytes_read: u64,
    remarks: Vec<String>,
    imported: Result<Imported, String>,
}

struct Imported {
    messages: u64,
    commits: u64,
}

async fn import_entry(
    entry: Result<Entry, SourceError>,
    stream: &AppendStream,
    destination: &Destination,
) -> Result<Outcome, ImportError> {
    let entry = entry?;
    let (remarks, imported) = match entry.dialogue {
        Err(violation) if violation.field.is_empty() => (Vec::new(), Err(violation.description)),
        Err(violation) => (Vec::new(), Err(violation.to_string())),
        Ok(mut dialogue) => {
            let remarks = std::mem::take(&mut dialogue.remarks);
            match send(plan(dialogue, destination), stream).await {
                Err(failure) if is_fatal(&failure) => {
                    return Err(ImportError::Service(failure));
                }
                imported => (remarks, imported.map_err(|failure| failure.to_string())),
            }
        }
    };
    Ok(Outcome { number: entry.number, bytes_read: entry.bytes_read, remarks, imported })
}

async fn send(plan: Plan, stream: &AppendStream) -> Result<Imported, Failure> {
    let messages = u64::try_from(plan.messages).unwrap_or(u64::MAX);
    let mut commits = 0;
    for command in plan.commands {
        let result = retrying(|| stream.send(command.clone())).await?;
        commits += u64::from(!result.replayed);
    }
    Ok(Imported { messages, commits })
}

fn is_fatal(failure: &Failure) -> bool {
    let denied = [Code::Unauthenticated, Code::PermissionDenied, Code::Unimplemented];
    denied.contains(&failure.code) || failure.reason == "AGENT_NOT_FOUND" || failure.is_transient()
}
