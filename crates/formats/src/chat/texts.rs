//! Renders parts as texts, for messages that accept only text.

use std::borrow::Cow;

use context::AnsweredCall;
use domain::event::{ToolOutcome, ToolOutput};
use domain::{Label, Part, Version};
use serde::Serialize;

use crate::loss::{Loss, LostContent, Replacement};
use crate::names::Names;
use crate::rendered::Rendered;

/// The prefix of the output of a failed tool, because the format has no other sign of failure.
pub(crate) const FAILED_PREFIX: &str = "Error: ";

/// The names and losses of a rendered transcript.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// The ids and names, in the order of the turns.
    pub(crate) names: Names,
    losses: Vec<Loss>,
}

impl Notes {
    /// Records a loss.
    pub(crate) fn lose(&mut self, version: Version, lost: LostContent, replacement: Replacement) {
        self.losses.push(Loss {
            version,
            lost,
            replacement,
        });
    }

    /// The rendered context.
    #[expect(
        clippy::expect_used,
        reason = "writing to memory cannot fail, and every key of a body is a string"
    )]
    pub(crate) fn rendered(mut self, body: &impl Serialize) -> Rendered {
        self.losses.sort_by_key(|loss| loss.version);
        Rendered {
            body: serde_json::to_vec(body).expect("a body is plain structs, lists and texts"),
            names: self.names,
            losses: self.losses,
        }
    }
}

/// The text of a part, or its placeholder. `None` for a part without text, which is a loss, and for an empty text (O1),
/// which is not.
pub(crate) fn text<'a>(
    part: &'a Part,
    version: Version,
    notes: &mut Notes,
) -> Option<Cow<'a, str>> {
    let (lost, text) = match part {
        Part::Text(text) if text.is_empty() => return None,
        Part::Text(text) => return Some(Cow::Borrowed(text)),
        Part::Refusal(text) if text.is_empty() => return None,
        Part::Refusal(text) => (LostContent::Refusal, Some(Cow::Borrowed(text.as_str()))),
        Part::Image { media_type, .. } => {
            let placeholder = placeholder("image", media_type.as_ref());
            (LostContent::Image, Some(Cow::Owned(placeholder)))
        }
        Part::File {
            media_type,
            filename,
            ..
        } => {
            let name = filename.as_ref().or(media_type.as_ref());
            (
                LostContent::File,
                Some(Cow::Owned(placeholder("file", name))),
            )
        }
        Part::Thinking { .. } => (LostContent::Thinking, None),
        Part::RedactedThinking(_) => (LostContent::RedactedThinking, None),
        Part::ProviderItem { .. } => (LostContent::ProviderItem, None),
    };
    let replacement = match text {
        Some(_) => Replacement::Text,
        None => Replacement::Nothing,
    };
    notes.lose(version, lost, replacement);
    text
}

/// The result of a call as texts, none of them empty. JSON is verbatim; a failed result starts with [`FAILED_PREFIX`].
pub(crate) fn answer_texts<'a>(call: &'a AnsweredCall, notes: &mut Notes) -> Vec<Cow<'a, str>> {
    let mut texts: Vec<Cow<'a, str>> = match &call.answer.output {
        ToolOutput::Json(json) => vec![Cow::Borrowed(json.as_str())],
        ToolOutput::Parts(parts) => parts
            .iter()
            .filter_map(|part| text(part, call.version, notes))
            .collect(),
    };
    if call.answer.outcome == ToolOutcome::Failed {
        notes.lose(call.version, LostContent::Outcome, Replacement::Text);
        match texts.first_mut() {
            Some(first) => first.to_mut().insert_str(0, FAILED_PREFIX),
            None => texts.push(Cow::Borrowed(FAILED_PREFIX)),
        }
    }
    texts
}

fn placeholder(kind: &str, name: Option<&Label>) -> String {
    match name {
        Some(name) => format!("[{kind}: {name}]"),
        None => format!("[{kind}]"),
    }
}

#[cfg(test)]
mod tests {
    use domain::{JsonText, MediaSource};

    use super::*;
    use crate::chat::fixtures::{answered, failed, label};

    #[test]
    fn parts_as_text() {
        check(&Part::Text(String::new()), None, None);
        check(&Part::Text(" ".into()), Some(" "), None);
        let refusal = Part::Refusal("No.".into());
        check(
            &refusal,
            Some("No."),
            Some((LostContent::Refusal, Replacement::Text)),
        );
        check(&Part::Refusal(String::new()), None, None);
        let image = |media_type| Part::Image {
            source: MediaSource::FileId("f".into()),
            media_type,
            detail: None,
        };
        let lost_image = Some((LostContent::Image, Replacement::Text));
        check(&image(None), Some("[image]"), lost_image);
        let png = image(Some(label("image/png")));
        check(&png, Some("[image: image/png]"), lost_image);
        let file = |media_type, filename| Part::File {
            source: MediaSource::FileId("f".into()),
            media_type,
            filename,
        };
        let lost_file = Some((LostContent::File, Replacement::Text));
        let named = file(Some(label("text/csv")), Some(label("a.csv")));
        check(&named, Some("[file: a.csv]"), lost_file);
        let typed = file(Some(label("text/csv")), None);
        check(&typed, Some("[file: text/csv]"), lost_file);
        let thinking = Part::Thinking {
            text: "hm".into(),
            signature: None,
        };
        check(
            &thinking,
            None,
            Some((LostContent::Thinking, Replacement::Nothing)),
        );
        let redacted = Part::RedactedThinking("x".into());
        let lost_redacted = Some((LostContent::RedactedThinking, Replacement::Nothing));
        check(&redacted, None, lost_redacted);
        let item = Part::ProviderItem {
            provider: label("x"),
            item: JsonText::parse("{}").unwrap(),
        };
        check(
            &item,
            None,
            Some((LostContent::ProviderItem, Replacement::Nothing)),
        );
    }

    fn check(part: &Part, expected: Option<&str>, lost: Option<(LostContent, Replacement)>) {
        let mut notes = Notes::default();
        let written = text(part, Version(3), &mut notes);
        assert_eq!(written.as_deref(), expected, "{part:?}");
        let losses: Vec<_> = notes
            .losses
            .iter()
            .map(|l| (l.lost, l.replacement))
            .collect();
        assert_eq!(losses, Vec::from_iter(lost), "{part:?}");
        assert!(notes.losses.iter().all(|l| l.version == Version(3)));
    }

    #[test]
    fn the_first_text_of_a_failure_has_the_prefix() {
        let text = |text: &str| Part::Text(text.to_owned());
        let output = ToolOutput::Parts(vec![text(""), text("a"), text("b")]);
        check_answer(&answered("c", "t", output.clone()), &["a", "b"]);
        check_answer(&failed("c", "t", output), &["Error: a", "b"]);
        check_answer(&failed("c", "t", ToolOutput::Parts(vec![])), &["Error: "]);
        let json = ToolOutput::Json(JsonText::parse("{\"b\": 1e400, \"a\":2}").unwrap());
        check_answer(&answered("c", "t", json), &["{\"b\": 1e400, \"a\":2}"]);
    }

    fn check_answer(call: &AnsweredCall, expected: &[&str]) {
        let mut notes = Notes::default();
        assert_eq!(answer_texts(call, &mut notes), expected);
        let lost = notes
            .losses
            .iter()
            .any(|loss| loss.lost == LostContent::Outcome);
        assert_eq!(lost, call.answer.outcome == ToolOutcome::Failed);
    }
}
