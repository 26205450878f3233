//! The chunks of one step. Every text and thought that starts also ends.

use std::collections::BTreeMap;

use domain::CallId;
use domain::event::MessageAppended;

use crate::step::DeltaKind;
use crate::ui_chunk::UiChunk;
use crate::ui_message::{TextState, UiPart};
use crate::ui_part;

#[derive(Debug, Default)]
pub(super) struct StepStream {
    started: bool,
    has_text: bool,
    /// The open text or thought, and its id.
    open: Option<(DeltaKind, String)>,
    pub(super) calls: BTreeMap<u32, CallId>,
}

impl StepStream {
    /// Ends the open text, and starts the step if it is not started.
    pub(super) fn begin(&mut self, chunks: &mut Vec<UiChunk>) {
        self.close(chunks);
        if !self.started {
            chunks.push(UiChunk::StartStep);
            self.started = true;
        }
    }

    pub(super) fn push_text(&mut self, added: DeltaKind, delta: &str, number: u64, chunks: &mut Vec<UiChunk>) {
        if delta.is_empty() {
            return;
        }
        let id = match self.open.take() {
            Some((kind, id)) if kind == added => id,
            open => {
                self.open = open;
                self.begin(chunks);
                let id = format!("p{number}");
                chunks.push(start_chunk(added, id.clone()));
                id
            }
        };
        chunks.push(delta_chunk(added, id.clone(), delta.to_owned()));
        self.open = Some((added, id));
        self.has_text = true;
    }

    /// Adds the parts of a message that were not streamed: only files if the step streamed text, otherwise all parts.
    pub(super) fn push_message(&mut self, message: &MessageAppended, number: u64, chunks: &mut Vec<UiChunk>) {
        let parts = message.parts.iter().filter_map(|part| ui_part::part(part, Some(TextState::Done)));
        for (index, part) in parts.enumerate() {
            if self.has_text && !matches!(part, UiPart::File { .. } | UiPart::Data(_)) {
                continue;
            }
            self.begin(chunks);
            chunks.extend(whole(&part, format!("p{number}.{index}")));
        }
    }

    pub(super) fn close(&mut self, chunks: &mut Vec<UiChunk>) {
        if let Some((kind, id)) = self.open.take() {
            chunks.push(end_chunk(kind, id));
        }
    }

    pub(super) fn finish(&mut self, chunks: &mut Vec<UiChunk>) {
        self.close(chunks);
        if self.started {
            chunks.push(UiChunk::FinishStep);
        }
        *self = Self::default();
    }
}

/// The chunks of a complete text, thought, file or `data-…` part; empty for other parts.
pub(crate) fn whole(part: &UiPart, id: String) -> Vec<UiChunk> {
    let (kind, text) = match part {
        UiPart::Text { text, .. } => (DeltaKind::Text, text),
        UiPart::Reasoning { text, .. } => (DeltaKind::Thinking, text),
        UiPart::File { media_type, url, .. } => {
            return vec![UiChunk::File { url: url.clone(), media_type: media_type.clone() }];
        }
        UiPart::Data(part) => return vec![UiChunk::Data(part.clone())],
        UiPart::StepStart | UiPart::Tool(_) => return Vec::new(),
    };
    vec![start_chunk(kind, id.clone()), delta_chunk(kind, id.clone(), text.clone()), end_chunk(kind, id)]
}

fn start_chunk(kind: DeltaKind, id: String) -> UiChunk {
    match kind {
        DeltaKind::Text | DeltaKind::Refusal => UiChunk::TextStart { id },
        DeltaKind::Thinking => UiChunk::ReasoningStart { id },
    }
}

fn delta_chunk(kind: DeltaKind, id: String, delta: String) -> UiChunk {
    match kind {
        DeltaKind::Text | DeltaKind::Refusal => UiChunk::TextDelta { id, delta },
        DeltaKind::Thinking => UiChunk::ReasoningDelta { id, delta },
    }
}

fn end_chunk(kind: DeltaKind, id: String) -> UiChunk {
    match kind {
        DeltaKind::Text | DeltaKind::Refusal => UiChunk::TextEnd { id },
        DeltaKind::Thinking => UiChunk::ReasoningEnd { id },
    }
}
