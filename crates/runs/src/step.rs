//! The unfinished step of a model: its streamed texts and calls.

use domain::{CallId, Part, RunPartKind, ToolName};

/// The kind of a streamed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeltaKind {
    /// The answer.
    Text,
    /// A thought.
    Thinking,
    /// A refusal.
    Refusal,
}

impl DeltaKind {
    /// The kind and the text of a delta; `None` for other parts.
    #[must_use]
    pub fn from_part(kind: &RunPartKind) -> Option<(Self, &str)> {
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
            Self::Thinking => Part::Thinking { text, signature: None },
            Self::Refusal => Part::Refusal(text),
        }
    }
}

/// A streamed text or call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Adjacent deltas of one kind.
    Text {
        /// Their kind.
        kind: DeltaKind,
        /// The received text.
        text: String,
    },
    /// A call.
    Call(StreamedCall),
}

/// A call whose input is not complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamedCall {
    /// The index of the call in the step.
    pub index: u32,
    /// The call.
    pub call_id: CallId,
    /// The tool.
    pub tool_name: ToolName,
    /// The received JSON text of its input.
    pub input: String,
}

/// The pieces that a model streamed after its last finished step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpenStep {
    pieces: Vec<Piece>,
    text_bytes: usize,
    input_bytes: usize,
}

impl OpenStep {
    /// The pieces, in the order of their starts.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    pub(crate) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// Bytes of the texts and of the inputs of calls.
    pub(crate) fn bytes(&self) -> usize {
        self.text_bytes.saturating_add(self.input_bytes)
    }

    /// The number of pieces after a delta of this kind.
    pub(crate) fn pieces_with(&self, added: DeltaKind) -> usize {
        let continues = matches!(self.pieces.last(), Some(Piece::Text { kind, .. }) if *kind == added);
        self.pieces.len() + usize::from(!continues)
    }

    pub(crate) fn push_text(&mut self, added: DeltaKind, delta: &str) {
        if delta.is_empty() {
            return;
        }
        self.text_bytes = self.text_bytes.saturating_add(delta.len());
        match self.pieces.last_mut() {
            Some(Piece::Text { kind, text }) if *kind == added => text.push_str(delta),
            Some(_) | None => self.pieces.push(Piece::Text { kind: added, text: delta.to_owned() }),
        }
    }

    pub(crate) fn push_call(&mut self, call: StreamedCall) {
        self.pieces.push(Piece::Call(call));
    }

    /// Appends to the input of a call; `None` if the call was not started.
    pub(crate) fn extend(&mut self, index: u32, fragment: &str) -> Option<()> {
        self.call_mut(index)?.input.push_str(fragment);
        self.input_bytes = self.input_bytes.saturating_add(fragment.len());
        Some(())
    }

    pub(crate) fn call_mut(&mut self, wanted: u32) -> Option<&mut StreamedCall> {
        self.pieces.iter_mut().find_map(|piece| match piece {
            Piece::Call(call) if call.index == wanted => Some(call),
            Piece::Call(_) | Piece::Text { .. } => None,
        })
    }

    /// The texts as parts of a message. Calls are omitted, because an incomplete input is not JSON.
    pub(crate) fn message_parts(&self) -> Vec<Part> {
        let part = |piece: &Piece| match piece {
            Piece::Text { kind, text } => Some(kind.part(text.clone())),
            Piece::Call(_) => None,
        };
        self.pieces.iter().filter_map(part).collect()
    }
}
