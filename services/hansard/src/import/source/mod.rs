//! Reads a data set and hands on one conversation after the other, whatever its size.
//!
//! A thread of its own reads and parses; what it hands on waits in a short queue, so memory is bounded by the longest
//! conversation, not by the file.

mod document;
mod lines;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;

use domain::Violation;
use tokio::sync::mpsc;

use super::Dialogue;
pub use lines::LINE_BYTES_MAX;

/// How many conversations wait between the reader and the sender.
const QUEUE_CONVERSATIONS: usize = 64;
/// How much is read at once.
const BUFFER_BYTES: usize = 256 * 1_024;

/// How a data set is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// JSON Lines: one conversation `{"messages": [...]}` a line, as OpenAI writes them.
    Openai,
    /// The chitchat data set's one document.
    Chitchat,
}

impl Format {
    /// What one conversation of it is called in a report.
    #[must_use]
    pub fn entry_name(self) -> &'static str {
        match self {
            Self::Openai => "line",
            Self::Chitchat => "conversation",
        }
    }
}

/// What to read.
#[derive(Debug, Clone)]
pub struct Source {
    /// The file; `None` is standard input.
    pub path: Option<PathBuf>,
    /// How it is written.
    pub format: Format,
    /// Most conversations to hand on.
    pub limit: Option<u64>,
}

/// One conversation, or why it cannot be kept.
#[derive(Debug)]
pub struct Entry {
    /// Its place in the data set, from 1: a line, or a member of the document.
    pub number: u64,
    /// How many bytes of the source have been read by now.
    pub bytes_read: u64,
    /// The conversation.
    pub dialogue: Result<Dialogue, Violation>,
}

/// The whole source cannot be read on.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file or the pipe failed.
    #[error("cannot read {name}")]
    Read {
        /// The file.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// The document is not JSON from here on.
    #[error("{name} is not one JSON object: {reason}")]
    Document {
        /// The file.
        name: String,
        /// Where, and what is wrong.
        reason: String,
    },
}

/// Entries as they are read; an error is the last thing to come.
pub type Entries = mpsc::Receiver<Result<Entry, SourceError>>;

/// Starts to read. Ends early when the receiver is dropped. Needs a tokio runtime.
#[must_use]
pub fn read(source: Source) -> Entries {
    let (entries, receiver) = mpsc::channel(QUEUE_CONVERSATIONS);
    tokio::task::spawn_blocking(move || {
        let outlet = Outlet {
            entries: entries.clone(),
            limit: source.limit,
            handed_on: 0,
        };
        if let Err(error) = read_all(&source, outlet) {
            // A receiver that has gone wants no error either.
            drop(entries.blocking_send(Err(error)));
        }
    });
    receiver
}

fn read_all(source: &Source, outlet: Outlet) -> Result<(), SourceError> {
    let name = match &source.path {
        Some(path) => path.display().to_string(),
        None => "standard input".to_owned(),
    };
    let failed = |error| SourceError::Read {
        name: name.clone(),
        source: error,
    };
    let input: Box<dyn Read> = match &source.path {
        Some(path) => Box::new(File::open(path).map_err(failed)?),
        None => Box::new(io::stdin()),
    };
    let input = BufReader::with_capacity(BUFFER_BYTES, input);
    match source.format {
        Format::Openai => lines::read(input, outlet).map_err(failed),
        Format::Chitchat => document::read(input, outlet).map_err(|reason| SourceError::Document {
            name: name.clone(),
            reason,
        }),
    }
}

/// Where entries go, until there are enough or nobody takes them.
struct Outlet {
    entries: mpsc::Sender<Result<Entry, SourceError>>,
    limit: Option<u64>,
    handed_on: u64,
}

impl Outlet {
    fn is_full(&self) -> bool {
        self.limit.is_some_and(|limit| self.handed_on >= limit)
    }

    /// `false` when no more is wanted.
    fn hand_on(&mut self, entry: Entry) -> bool {
        self.handed_on += 1;
        self.entries.blocking_send(Ok(entry)).is_ok() && !self.is_full()
    }
}

#[cfg(test)]
mod tests;
