//! Sends what a source hands on: many conversations at once, each one's requests in order.
//!
//! Conversations in flight bound the memory and the load. A conversation that cannot be kept is reported and stops
//! nothing; what concerns every conversation (no access, no service) ends the import.

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

/// How many conversations are on their way at once.
pub const CONVERSATIONS_IN_FLIGHT: usize = 256;

/// What an import came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Conversations that are in the record now, all of their messages with them.
    pub conversations: u64,
    /// Those of them that an earlier import had brought whole: nothing was added.
    pub already_there: u64,
    /// Messages of the conversations.
    pub messages: u64,
    /// Commits that this import made.
    pub commits: u64,
    /// Lines, or conversations, that could not be kept.
    pub refused: u64,
    /// Values that are kept in another form than they were given in.
    pub remarks: u64,
    /// How long it took.
    pub seconds: f64,
}

/// What happens during an import.
#[derive(Debug)]
pub enum Step<'a> {
    /// A conversation is in the record, or could not be kept.
    Settled {
        /// What there is so far.
        summary: &'a Summary,
        /// How many bytes of the source have been read.
        bytes_read: u64,
    },
    /// A line or conversation could not be kept.
    Refused {
        /// Its number, from 1.
        number: u64,
        /// The place in it, and what is wrong; never content.
        why: String,
    },
    /// A value is kept in another form than it was given in.
    Remark {
        /// The number of its line or conversation, from 1.
        number: u64,
        /// The place in it, and what became of it.
        what: String,
    },
}

/// Why an import ended early. What was sent is kept; the same import goes on from there.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The source cannot be read on.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The write service refuses everything or does not answer.
    #[error("the write service: {0}")]
    Service(Failure),
}

/// Sends every entry, and tells each step.
///
/// # Errors
/// [`ImportError`].
pub async fn run(
    entries: Entries,
    stream: &AppendStream,
    destination: &Destination,
    mut tell: impl FnMut(Step<'_>),
) -> Result<Summary, ImportError> {
    let started = Instant::now();
    let mut summary = Summary::default();
    let mut settled = ReceiverStream::new(entries)
        .map(|entry| settle(entry, stream, destination))
        .buffer_unordered(CONVERSATIONS_IN_FLIGHT);
    while let Some(outcome) = settled.next().await {
        let Outcome {
            number,
            bytes_read,
            remarks,
            kept,
        } = outcome?;
        for what in remarks {
            summary.remarks += 1;
            tell(Step::Remark { number, what });
        }
        match kept {
            Ok(kept) => summary.add(&kept),
            Err(why) => {
                summary.refused += 1;
                tell(Step::Refused { number, why });
            }
        }
        summary.seconds = started.elapsed().as_secs_f64();
        tell(Step::Settled {
            summary: &summary,
            bytes_read,
        });
    }
    summary.seconds = started.elapsed().as_secs_f64();
    Ok(summary)
}

impl Summary {
    fn add(&mut self, kept: &Kept) {
        self.conversations += 1;
        self.already_there += u64::from(kept.commits == 0);
        self.messages += kept.messages;
        self.commits += kept.commits;
    }
}

struct Outcome {
    number: u64,
    bytes_read: u64,
    remarks: Vec<String>,
    kept: Result<Kept, String>,
}

struct Kept {
    messages: u64,
    commits: u64,
}

async fn settle(
    entry: Result<Entry, SourceError>,
    stream: &AppendStream,
    destination: &Destination,
) -> Result<Outcome, ImportError> {
    let Entry {
        number,
        bytes_read,
        dialogue,
    } = entry?;
    let (remarks, kept) = match dialogue {
        Err(violation) if violation.field.is_empty() => (Vec::new(), Err(violation.description)),
        Err(violation) => (Vec::new(), Err(violation.to_string())),
        Ok(mut dialogue) => {
            let remarks = std::mem::take(&mut dialogue.remarks);
            match send(plan(dialogue, destination), stream).await {
                Ok(kept) => (remarks, Ok(kept)),
                Err(failure) if concerns_all(&failure) => {
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
        kept,
    })
}

async fn send(plan: Plan, stream: &AppendStream) -> Result<Kept, Failure> {
    let messages = u64::try_from(plan.messages).unwrap_or(u64::MAX);
    let mut kept = Kept {
        messages,
        commits: 0,
    };
    for command in plan.commands {
        let result = send_command(&command, stream).await?;
        kept.commits += u64::from(!result.replayed);
    }
    Ok(kept)
}

async fn send_command(command: &Command, stream: &AppendStream) -> Result<CommitResult, Failure> {
    retrying(|| stream.send(command.clone())).await
}

fn concerns_all(failure: &Failure) -> bool {
    let denied = [
        Code::Unauthenticated,
        Code::PermissionDenied,
        Code::Unimplemented,
    ];
    denied.contains(&failure.code) || failure.reason == "AGENT_NOT_FOUND" || failure.is_transient()
}
