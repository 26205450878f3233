//! Prints commits as JSON Lines or as a readable chat.

use std::io::Write as _;

use clap::ValueEnum;
use event_log::StoredMessage;

use crate::console;
use crate::view::commit;
use crate::view::transcript::Transcript;

/// The output format of commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CommitFormat {
    /// JSON Lines, one commit per line.
    Json,
    /// A readable chat: times, authors, texts, tool calls and results.
    Transcript,
}

/// Prints commits in one format.
pub(crate) struct CommitPrinter {
    format: CommitFormat,
    transcript: Transcript,
}

impl CommitPrinter {
    pub(crate) fn new(format: CommitFormat) -> Self {
        Self { format, transcript: Transcript::default() }
    }

    pub(crate) fn print(&mut self, message: &StoredMessage) -> anyhow::Result<()> {
        let mut out = console::out();
        match self.format {
            CommitFormat::Json => writeln!(out, "{}", commit::json_of(message)?)?,
            CommitFormat::Transcript => self.transcript.write(&mut out, &commit::open(message)?)?,
        }
        Ok(())
    }
}
