//! Assigns versions to the events of a random transcript, and unique numbers to its texts.

use std::collections::BTreeSet;

use context::{AnswerOrigin, AnsweredCall, Transcript, Turn};
use domain::event::ToolOutput;
use domain::{CallId, JsonText, MediaSource, Part, Version};

/// Counts versions and texts.
#[derive(Debug, Default)]
struct Count {
    versions: u64,
    texts: usize,
}

impl Count {
    fn version(&mut self) -> Version {
        self.versions += 1;
        Version(self.versions)
    }

    fn text(&mut self, text: &mut String) {
        self.texts += 1;
        if text.contains('#') {
            *text = text.replace('#', &format!("{:04}", self.texts));
        }
    }

    fn json(&mut self, json: &mut JsonText) {
        let mut text = json.as_str().to_owned();
        self.text(&mut text);
        *json = JsonText::parse(text).unwrap();
    }

    fn part(&mut self, part: &mut Part) {
        match part {
            Part::Text(text) | Part::RedactedThinking(text) | Part::Refusal(text) => {
                self.text(text);
            }
            Part::Image { source, .. } | Part::File { source, .. } => match source {
                MediaSource::Url(text) | MediaSource::FileId(text) => self.text(text),
            },
            Part::Thinking { text, signature } => {
                self.text(text);
                if let Some(text) = signature {
                    self.text(text);
                }
            }
            Part::ProviderItem { item, .. } => self.json(item),
        }
    }
}

/// The transcript with versions from 1, numbers in its texts, and ids that are unique within each turn.
pub(super) fn numbered(mut transcript: Transcript) -> Transcript {
    let mut count = Count::default();
    let frame = transcript.instructions.iter_mut();
    frame.chain(&mut transcript.opening).for_each(|text| count.text(text));
    for turn in &mut transcript.turns {
        number_turn(turn, &mut count);
    }
    transcript.closing.iter_mut().for_each(|text| count.text(text));
    transcript
}

fn number_turn(turn: &mut Turn, count: &mut Count) {
    turn.version = count.version();
    turn.parts.iter_mut().for_each(|part| count.part(part));
    let mut ids = BTreeSet::new();
    for call in &mut turn.calls {
        call.version = count.version();
        number_call(call, count);
        while !ids.insert(call.called.call_id.clone()) {
            let next = format!("again_{}", ids.len());
            call.called.call_id = CallId::parse(next).unwrap();
        }
    }
    for call in &mut turn.calls {
        match &mut call.answer.origin {
            AnswerOrigin::Recorded(version) | AnswerOrigin::Cleared(version) => {
                *version = count.version();
            }
            AnswerOrigin::Pending | AnswerOrigin::Interrupted => {}
        }
    }
}

fn number_call(call: &mut AnsweredCall, count: &mut Count) {
    let mut id = call.called.call_id.as_str().to_owned();
    count.text(&mut id);
    call.called.call_id = CallId::parse(id).unwrap();
    count.json(&mut call.called.input);
    call.called.signature.iter_mut().for_each(|text| count.text(text));
    match &mut call.answer.output {
        ToolOutput::Json(json) => count.json(json),
        ToolOutput::Parts(parts) => parts.iter_mut().for_each(|part| count.part(part)),
    }
}
