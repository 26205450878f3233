//! What a stream has said of the step under way: every text and thought that it begins, it ends.

use std::collections::BTreeMap;

use domain::CallId;
use domain::event::MessageAppended;

use crate::shown;
use crate::step::WordsKind;
use crate::ui_chunk::UiChunk;
use crate::ui_message::{TextState, UiPart};

/// What was said of the step under way.
#[derive(Debug, Default)]
pub(super) struct StepSoFar {
    started: bool,
    spoke: bool,
    open: Option<(WordsKind, String)>,
    pub(super) calls: BTreeMap<u32, CallId>,
}

impl StepSoFar {
    /// Begins the step where it has not begun; ends what words are open.
    pub(super) fn begin(&mut self, chunks: &mut Vec<UiChunk>) {
        self.close(chunks);
        if !self.started {
            chunks.push(UiChunk::StartStep);
            self.started = true;
        }
    }

    pub(super) fn say(
        &mut self,
        spoken: WordsKind,
        words: &str,
        number: u64,
        chunks: &mut Vec<UiChunk>,
    ) {
        if words.is_empty() {
            return;
        }
        let id = match self.open.take() {
            Some((kind, id)) if kind == spoken => id,
            open => {
                self.open = open;
                self.begin(chunks);
                let id = format!("p{number}");
                chunks.push(start_of(spoken, id.clone()));
                id
            }
        };
        chunks.push(delta_of(spoken, id.clone(), words.to_owned()));
        self.open = Some((spoken, id));
        self.spoke = true;
    }

    /// Shows of a message what was not streamed: everything where nothing was, else only its files.
    pub(super) fn show(
        &mut self,
        message: &MessageAppended,
        number: u64,
        chunks: &mut Vec<UiChunk>,
    ) {
        let parts = message.parts.iter();
        let spoke = self.spoke;
        for (index, part) in parts
            .filter_map(|part| shown::part(part, Some(TextState::Done)))
            .enumerate()
        {
            if spoke && !matches!(part, UiPart::File { .. }) {
                continue;
            }
            self.begin(chunks);
            chunks.extend(whole(&part, format!("p{number}.{index}")));
        }
    }

    pub(super) fn close(&mut self, chunks: &mut Vec<UiChunk>) {
        if let Some((kind, id)) = self.open.take() {
            chunks.push(end_of(kind, id));
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

/// The chunks of a whole text, thought or file; none of other parts.
pub(crate) fn whole(part: &UiPart, id: String) -> Vec<UiChunk> {
    let (kind, text) = match part {
        UiPart::Text { text, .. } => (WordsKind::Text, text),
        UiPart::Reasoning { text, .. } => (WordsKind::Thinking, text),
        UiPart::File {
            media_type, url, ..
        } => {
            return vec![UiChunk::File {
                url: url.clone(),
                media_type: media_type.clone(),
            }];
        }
        UiPart::StepStart | UiPart::Tool(_) => return Vec::new(),
    };
    vec![
        start_of(kind, id.clone()),
        delta_of(kind, id.clone(), text.clone()),
        end_of(kind, id),
    ]
}

fn start_of(kind: WordsKind, id: String) -> UiChunk {
    match kind {
        WordsKind::Text | WordsKind::Refusal => UiChunk::TextStart { id },
        WordsKind::Thinking => UiChunk::ReasoningStart { id },
    }
}

fn delta_of(kind: WordsKind, id: String, delta: String) -> UiChunk {
    match kind {
        WordsKind::Text | WordsKind::Refusal => UiChunk::TextDelta { id, delta },
        WordsKind::Thinking => UiChunk::ReasoningDelta { id, delta },
    }
}

fn end_of(kind: WordsKind, id: String) -> UiChunk {
    match kind {
        WordsKind::Text | WordsKind::Refusal => UiChunk::TextEnd { id },
        WordsKind::Thinking => UiChunk::ReasoningEnd { id },
    }
}
