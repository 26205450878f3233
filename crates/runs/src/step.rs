//! The step that a model has not finished yet: what it has streamed of its answer so far.

use domain::{CallId, Part, RunPartKind, ToolName};

/// What kind of words a model streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordsKind {
    /// Its answer.
    Text,
    /// A thought.
    Thinking,
    /// A refusal.
    Refusal,
}

impl WordsKind {
    /// The kind of a delta and its words; `None` of other parts.
    #[must_use]
    pub fn of(kind: &RunPartKind) -> Option<(Self, &str)> {
        match kind {
            RunPartKind::TextDelta(text) => Some((Self::Text, text)),
            RunPartKind::ThinkingDelta(text) => Some((Self::Thinking, text)),
            RunPartKind::RefusalDelta(text) => Some((Self::Refusal, text)),
            RunPartKind::CallBegan { .. }
            | RunPartKind::CallInput { .. }
            | RunPartKind::StepFinished(_)
            | RunPartKind::ToolReturned(_)
            | RunPartKind::KeptAlive
            | RunPartKind::RunEnded(_) => None,
        }
    }

    fn part(self, text: String) -> Part {
        match self {
            Self::Text => Part::Text(text),
            Self::Thinking => Part::Thinking {
                text,
                signature: None,
            },
            Self::Refusal => Part::Refusal(text),
        }
    }
}

/// Something that a model streams, in the order in which it began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Words of one kind, without a break.
    Words {
        /// Their kind.
        kind: WordsKind,
        /// The words so far.
        text: String,
    },
    /// A call.
    Call(StreamedCall),
}

/// A call that a model is about to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamedCall {
    /// Which call of the step.
    pub index: u32,
    /// The call.
    pub call_id: CallId,
    /// The tool.
    pub tool_name: ToolName,
    /// The JSON text of its input so far.
    pub input: String,
}

/// What a model has streamed since its last finished step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpenStep {
    pieces: Vec<Piece>,
    words_bytes: usize,
    input_bytes: usize,
}

impl OpenStep {
    /// The pieces, in the order in which they began.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// How many bytes its words have.
    pub(crate) fn words_bytes(&self) -> usize {
        self.words_bytes
    }

    /// How many bytes its words and the inputs of its calls have.
    pub(crate) fn bytes(&self) -> usize {
        self.words_bytes.saturating_add(self.input_bytes)
    }

    /// How many pieces there are once words of this kind are added.
    pub(crate) fn pieces_with(&self, spoken: WordsKind) -> usize {
        let goes_on =
            matches!(self.pieces.last(), Some(Piece::Words { kind, .. }) if *kind == spoken);
        self.pieces.len() + usize::from(!goes_on)
    }

    pub(crate) fn say(&mut self, spoken: WordsKind, words: &str) {
        if words.is_empty() {
            return;
        }
        self.words_bytes = self.words_bytes.saturating_add(words.len());
        match self.pieces.last_mut() {
            Some(Piece::Words { kind, text }) if *kind == spoken => text.push_str(words),
            Some(_) | None => self.pieces.push(Piece::Words {
                kind: spoken,
                text: words.to_owned(),
            }),
        }
    }

    pub(crate) fn begin(&mut self, call: StreamedCall) {
        self.pieces.push(Piece::Call(call));
    }

    /// Adds to a call's input; `None` where no such call began.
    pub(crate) fn extend(&mut self, index: u32, fragment: &str) -> Option<()> {
        self.call_mut(index)?.input.push_str(fragment);
        self.input_bytes = self.input_bytes.saturating_add(fragment.len());
        Some(())
    }

    pub(crate) fn call_mut(&mut self, wanted: u32) -> Option<&mut StreamedCall> {
        self.pieces.iter_mut().find_map(|piece| match piece {
            Piece::Call(call) if call.index == wanted => Some(call),
            Piece::Call(_) | Piece::Words { .. } => None,
        })
    }

    /// The parts of the message that the words make; calls are left out, since an unfinished input is not JSON.
    pub(crate) fn message_parts(&self) -> Vec<Part> {
        let part_of = |piece: &Piece| match piece {
            Piece::Words { kind, text } => Some(kind.part(text.clone())),
            Piece::Call(_) => None,
        };
        self.pieces.iter().filter_map(part_of).collect()
    }
}
