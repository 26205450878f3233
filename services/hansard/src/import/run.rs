//! Sends the conversations of a source: many concurrently, the requests of each in order.
//!
//! The number of conversations in flight bounds memory and load. A rejected conversation is reported, and the import continues;
//! an error that affects every conversation (no access, no service) ends the import.

use std::time::Instant;

use futures::StreamExt as _;
use serde::Serialize;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;
use wire::proto::write::v1::CommitResult;
use wire::proto::write::v1::append_stream_request::Command;

use super::plan::{Destination, Plan, plan};
use super::source::{Entries, Entry, SourceError};
use crate::client::{AppendStream, Failure, retrying};

/// The maximum number of conversations in flight.
pub const CONVERSATIONS_IN_FLIGHT: usize = 256;

/// The result of an import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Conversations that are completely in the record.
    pub conversations: u64,
    /// Those of them to which nothing was added, because an earlier import had completed them.
    pub already_there: u64,
    /// Messages of the conversations.
    pub messages: u64,
    /// Commits that this import appended.
    pub commits: u64,
    /// Lines or conversations that were rejected.
    pub refused: u64,
    /// Values that are stored in another form.
    pub remarks: u64,
    /// The duration, in seconds.
    pub seconds: f64,
}

/// A step of an import.
#[derive(Debug)]
pub enum Step<'a> {
    /// A conversation is in the record or was rejected.
    Completed {
        /// The counts so far.
        summary: &'a Summary,
        /// The number of bytes of the source that have been read.
        bytes_read: u64,
    },
    /// A line or conversation was rejected.
    Rejected {
        /// Its number, from 1.
        number: u64,
        /// The path of the invalid value and the error, without content.
        why: String,
    },
    /// A value is stored in another form.
    Remark {
        /// The number of its line or conversation, from 1.
        number: u64,
        /// Its path and its form.
        what: String,
    },
}

/// An error that ends an import. What was sent stays; a repeated import resumes.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The source cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The write service rejects all commands or does not answer.
    #[error("the write service failed: {0}")]
    Service(Failure),
}

/// Sends every entry and reports each step.
///
/// # Errors
/// [`ImportError`].
pub async fn run(
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
        let Outcome {
            number,
            bytes_read,
            remarks,
            imported,
        } = outcome?;
        for what in remarks {
            summary.remarks += 1;
            report(Step::Remark { number, what });
        }
        match imported {
            Ok(imported) => summary.add(&imported),
            Err(why) => {
                summary.refused += 1;
                report(Step::Rejected { number, why });
            }
        }
        summary.seconds = started.elapsed().as_secs_f64();
        report(Step::Completed {
            summary: &summary,
            bytes_read,
        });
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
    let Entry {
        number,
        bytes_read,
        dialogue,
    } = entry?;
    let (remarks, imported) = match dialogue {
        Err(violation) if violation.field.is_empty() => (Vec::new(), Err(violation.description)),
        Err(violation) => (Vec::new(), Err(violation.to_string())),
        Ok(mut dialogue) => {
            let remarks = std::mem::take(&mut dialogue.remarks);
            match send(plan(dialogue, destination), stream).await {
                Ok(imported) => (remarks, Ok(imported)),
                Err(failure) if is_fatal(&failure) => {
                    return Err(ImportError::Service(failure));
                }
                Err(failure) => (remarks, Err(failure.to_string())),
            }
        }
    };
    Ok(Outcome {
        number,
        bytes_read,
        remarks,
        imported,
    })
}

async fn send(plan: Plan, stream: &AppendStream) -> Result<Imported, Failure> {
    let messages = u64::try_from(plan.messages).unwrap_or(u64::MAX);
    let mut imported = Imported {
        messages,
        commits: 0,
    };
    for command in plan.commands {
        let result = send_command(&command, stream).await?;
        imported.commits += u64::from(!result.replayed);
    }
    Ok(imported)
}

async fn send_command(command: &Command, stream: &AppendStream) -> Result<CommitResult, Failure> {
    retrying(|| stream.send(command.clone())).await
}

fn is_fatal(failure: &Failure) -> bool {
    let denied = [
        Code::Unauthenticated,
        Code::PermissionDenied,
        Code::Unimplemented,
    ];
    denied.contains(&failure.code) || failure.reason == "AGENT_NOT_FOUND" || failure.is_transient()
}
