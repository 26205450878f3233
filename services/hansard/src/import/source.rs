//! Reads a data set of any size, conversation by conversation.
//!
//! A separate thread reads and parses, and sends entries to a short queue. So the longest conversation bounds the memory, not the
//! size of the file.

mod document;
mod lines;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;

use domain::Violation;
use tokio::sync::mpsc;

use super::Dialogue;
/// The length of the queue between reader and sender.
const QUEUE_CONVERSATIONS: usize = 64;
/// The size of the read buffer.
const BUFFER_BYTES: usize = 256 * 1_024;

/// The format of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// JSON Lines: one conversation `{"messages": [...]}` per line, in OpenAI's form.
    Openai,
    /// The JSON document of the chitchat data set.
    Chitchat,
}

impl Format {
    /// The name of one entry in reports.
    pub(crate) fn entry_name(self) -> &'static str {
        match self {
            Self::Openai => "line",
            Self::Chitchat => "conversation",
        }
    }
}

/// A data set to read.
#[derive(Debug, Clone)]
pub struct Source {
    /// The file; `None` is standard input.
    pub path: Option<PathBuf>,
    /// Its format.
    pub format: Format,
    /// The maximum number of conversations to read.
    pub limit: Option<u64>,
}

/// One conversation of a data set, or its error.
#[derive(Debug)]
pub struct Entry {
    /// Its number in the data set, from 1: a line, or a member of the document.
    pub number: u64,
    /// The number of bytes of the source that have been read.
    pub bytes_read: u64,
    /// The conversation.
    pub dialogue: Result<Dialogue, Violation>,
}

/// An error that ends the reading of a source.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// An I/O error.
    #[error("cannot read {name}")]
    Read {
        /// The file.
        name: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The document is not valid JSON.
    #[error("{name} is not one JSON object: {reason}")]
    Document {
        /// The file.
        name: String,
        /// The position of the error.
        reason: String,
    },
}

/// The entries; an error is the last one.
pub type Entries = mpsc::Receiver<Result<Entry, SourceError>>;

/// Starts to read. Stops if the receiver is dropped. Needs a tokio runtime.
#[must_use]
pub fn read(source: Source) -> Entries {
    let (entries, receiver) = mpsc::channel(QUEUE_CONVERSATIONS);
    tokio::task::spawn_blocking(move || {
        let sender = EntrySender { entries: entries.clone(), limit: source.limit, sent: 0 };
        if let Err(error) = read_all(&source, sender) {
            // The receiver may have been dropped.
            drop(entries.blocking_send(Err(error)));
        }
    });
    receiver
}

fn read_all(source: &Source, sender: EntrySender) -> Result<(), SourceError> {
    let name = match &source.path {
        Some(path) => path.display().to_string(),
        None => "standard input".to_owned(),
    };
    let failed = |error| SourceError::Read { name: name.clone(), source: error };
    let unbuffered: Box<dyn Read> = match &source.path {
        Some(path) => Box::new(File::open(path).map_err(failed)?),
        None => Box::new(io::stdin()),
    };
    let input = BufReader::with_capacity(BUFFER_BYTES, unbuffered);
    match source.format {
        Format::Openai => lines::read(input, sender).map_err(failed),
        Format::Chitchat => {
            document::read(input, sender).map_err(|reason| SourceError::Document { name: name.clone(), reason })
        }
    }
}

/// Sends entries until the limit is reached or the receiver is dropped.
struct EntrySender {
    entries: mpsc::Sender<Result<Entry, SourceError>>,
    limit: Option<u64>,
    sent: u64,
}

impl EntrySender {
    fn is_full(&self) -> bool {
        self.limit.is_some_and(|limit| self.sent >= limit)
    }

    /// Returns `false` if no further entry is accepted.
    fn send(&mut self, entry: Entry) -> bool {
        self.sent += 1;
        self.entries.blocking_send(Ok(entry)).is_ok() && !self.is_full()
    }
}

#[cfg(test)]
mod tests;
