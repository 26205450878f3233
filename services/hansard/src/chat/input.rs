//! Lines of the user: from an editor on a terminal, or from a pipe.

use std::borrow::Cow;
use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use reedline::{
    FileBackedHistory, Prompt, PromptEditMode, PromptHistorySearch, Reedline, Signal, ValidationResult, Validator,
};
use tokio::sync::mpsc;

use crate::bounded_line::{self, Line};
use crate::exit::UsageError;
use crate::secret_file::FILE_MODE;

/// Most bytes of a message.
pub(super) const MESSAGE_BYTES_MAX: usize = 256 * 1024;
/// Most entries of the history file.
const HISTORY_ENTRIES_MAX: usize = 1_000;

/// What the user enters.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Text(String),
    /// Ctrl-C at the prompt.
    Cancelled,
    /// The end of the input.
    End,
    /// A text longer than [`MESSAGE_BYTES_MAX`].
    TooLong,
}

/// The source of entries.
pub(super) enum Input {
    Terminal(Box<Editors>),
    /// Lines of standard input.
    Pipe(mpsc::Receiver<Entry>),
}

/// The editors of a terminal. They are `None` while a thread reads.
pub(super) struct Editors {
    messages: Option<Reedline>,
    /// The editor of answers to questions, without history.
    answers: Option<Reedline>,
}

impl Input {
    /// The editors, whose history is in this folder.
    pub(super) fn terminal(folder: &Path, is_coloured: bool) -> anyhow::Result<Self> {
        let history = history(&folder.join("history"))?;
        let editor = || Reedline::create().with_ansi_colors(is_coloured);
        let messages =
            editor().with_history(Box::new(history)).with_validator(Box::new(Backslash)).use_bracketed_paste(true);
        Ok(Self::Terminal(Box::new(Editors { messages: Some(messages), answers: Some(editor()) })))
    }

    /// The lines of standard input, which a thread reads because such reads cannot be interrupted.
    pub(super) fn pipe() -> Self {
        let (lines, received) = mpsc::channel(1);
        std::thread::spawn(move || {
            let mut input = io::stdin().lock();
            // An input that cannot be read has ended.
            while let Ok(line) = next_line(&mut input) {
                let is_end = line == Entry::End;
                if lines.blocking_send(line).is_err() || is_end {
                    return;
                }
            }
        });
        Self::Pipe(received)
    }

    /// The next message or command.
    pub(super) async fn message(&mut self) -> anyhow::Result<Entry> {
        match self {
            Self::Terminal(editors) => edit(&mut editors.messages, Question("> ".to_owned())).await,
            Self::Pipe(lines) => Ok(lines.recv().await.unwrap_or(Entry::End)),
        }
    }

    /// The answer to a question.
    pub(super) async fn answer(&mut self, question: &str) -> anyhow::Result<Entry> {
        match self {
            Self::Terminal(editors) => edit(&mut editors.answers, Question(question.to_owned())).await,
            Self::Pipe(lines) => Ok(lines.recv().await.unwrap_or(Entry::End)),
        }
    }
}

/// Reads the whole standard input as one message.
pub(super) fn whole() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let bound = u64::try_from(MESSAGE_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let mut input = io::stdin().lock().take(bound);
    input.read_to_end(&mut bytes).context("cannot read standard input")?;
    if bytes.len() > MESSAGE_BYTES_MAX {
        return Err(UsageError(too_long().to_owned()).into());
    }
    String::from_utf8(bytes).map_err(|_| UsageError("standard input is not UTF-8 text".to_owned()).into())
}

/// Why a message is not sent.
pub(super) fn too_long() -> &'static str {
    "the message is longer than 256 KiB: send less"
}

/// The next line without its end.
fn next_line(input: &mut impl io::BufRead) -> io::Result<Entry> {
    Ok(match bounded_line::next(input, MESSAGE_BYTES_MAX)? {
        Some(Line::Whole(bytes)) => Entry::Text(String::from_utf8_lossy(&bytes).into_owned()),
        Some(Line::TooLong) => Entry::TooLong,
        None => Entry::End,
    })
}

/// Edits a line in a thread, which reads of the terminal block.
async fn edit(editor: &mut Option<Reedline>, question: Question) -> anyhow::Result<Entry> {
    let Some(mut reader) = editor.take() else {
        return Ok(Entry::End);
    };
    let read = tokio::task::spawn_blocking(move || {
        let signal = reader.read_line(&question);
        (reader, signal)
    });
    let (reader, signal) = read.await?;
    *editor = Some(reader);
    Ok(match signal.context("cannot read the terminal")? {
        Signal::Success(text) if text.len() > MESSAGE_BYTES_MAX => Entry::TooLong,
        Signal::Success(text) => Entry::Text(text.replace("\\\n", "\n")),
        Signal::CtrlC => Entry::Cancelled,
        // Ctrl-D. Nothing binds a key to another signal.
        Signal::CtrlD | Signal::HostCommand(_) | Signal::ExternalBreak(_) | _ => Entry::End,
    })
}

/// The history. The file is created first, because only its owner may read it.
fn history(path: &Path) -> anyhow::Result<FileBackedHistory> {
    let cannot = || format!("cannot write {}: name another folder with --data-dir", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(cannot)?;
    }
    let mut file = OpenOptions::new();
    file.create(true).append(true).mode(FILE_MODE);
    file.open(path).with_context(cannot)?;
    FileBackedHistory::with_file(HISTORY_ENTRIES_MAX, path.to_owned()).with_context(cannot)
}

/// Continues a message whose line ends with a backslash.
struct Backslash;

impl Validator for Backslash {
    fn validate(&self, line: &str) -> ValidationResult {
        if line.ends_with('\\') { ValidationResult::Incomplete } else { ValidationResult::Complete }
    }
}

/// A prompt.
struct Question(String);

impl Prompt for Question {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.0)
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed(". ")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        Cow::Owned(format!("(search: {}) ", search.term))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn lines_are_bounded() {
        let longest = "x".repeat(MESSAGE_BYTES_MAX);
        let text = format!("a\n\n{longest}\n{longest}y\nlast");
        let mut input = text.as_bytes();
        let mut next = || next_line(&mut input).unwrap();
        let text = |text: &str| Entry::Text(text.to_owned());
        assert_eq!([next(), next()], [text("a"), text("")]);
        assert_eq!([next(), next()], [text(&longest), Entry::TooLong]);
        assert_eq!([next(), next()], [text("last"), Entry::End]);
    }

    #[test]
    fn only_their_owner_reads_the_history() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chat").join("history");
        history(&path).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, FILE_MODE);
        assert!(history(&path.join("below-a-file")).is_err());
    }

    #[test]
    fn a_backslash_continues_a_message() {
        let check = |line: &str, expected| {
            let is_complete = matches!(Backslash.validate(line), ValidationResult::Complete);
            assert_eq!(is_complete, expected, "{line}");
        };
        check("a", true);
        check("a\\", false);
        check("a\\\nb", true);
        check("/open 1", true);
    }
}
