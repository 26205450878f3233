//! Renders parts as texts, for messages that accept only text.

use std::borrow::Cow;

use context::AnsweredCall;
use domain::event::{ToolOutcome, ToolOutput};
use domain::{Part, Version};

use crate::loss::{LostContent, Replacement, text_form};
use crate::rendered::Notes;

/// The prefix of the output of a failed tool, because OpenAI's formats and Ollama's have no other sign of failure.
pub(crate) const FAILED_PREFIX: &str = "Error: ";

/// The text of a part, or its placeholder. `None` for a part without text, which is a loss, and for an empty text (O1),
/// which is not.
pub(crate) fn text<'a>(part: &'a Part, version: Version, notes: &mut Notes) -> Option<Cow<'a, str>> {
    if let Part::Text(text) | Part::Refusal(text) = part
        && text.is_empty()
    {
        return None;
    }
    if let Part::Text(text) = part {
        return Some(Cow::Borrowed(text));
    }
    let (lost, text) = text_form(part);
    notes.lose(version, lost, Replacement::by_text(text.as_ref()));
    text
}

/// The result of a call as texts, none of them empty. JSON is verbatim; a failed result starts with [`FAILED_PREFIX`].
pub(crate) fn answer_texts<'a>(call: &'a AnsweredCall, notes: &mut Notes) -> Vec<Cow<'a, str>> {
    let mut texts: Vec<Cow<'a, str>> = match &call.answer.output {
        ToolOutput::Json(json) => vec![Cow::Borrowed(json.as_str())],
        ToolOutput::Parts(parts) => parts.iter().filter_map(|part| text(part, call.version, notes)).collect(),
    };
    if call.answer.outcome == ToolOutcome::Failed {
        notes.turn_into_text(call.version, LostContent::Outcome);
        match texts.first_mut() {
            Some(first) => first.to_mut().insert_str(0, FAILED_PREFIX),
            None => texts.push(Cow::Borrowed(FAILED_PREFIX)),
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use domain::{JsonText, MediaSource};

    use super::*;
    use crate::tests::chat::{answered, failed, label};

    #[test]
    fn parts_as_text() {
        check(&Part::Text(String::new()), None, None);
        check(&Part::Text(" ".into()), Some(" "), None);
        let refusal = Part::Refusal("No.".into());
        check(&refusal, Some("No."), Some((LostContent::Refusal, Replacement::Text)));
        check(&Part::Refusal(String::new()), None, None);
        let image = |media_type| Part::Image { source: MediaSource::FileId("f".into()), media_type, detail: None };
        let lost_image = Some((LostContent::Image, Replacement::Text));
        check(&image(None), Some("[image]"), lost_image);
        let png = image(Some(label("image/png")));
        check(&png, Some("[image: image/png]"), lost_image);
        let file = |media_type, filename| Part::File { source: MediaSource::FileId("f".into()), media_type, filename };
        let lost_file = Some((LostContent::File, Replacement::Text));
        let named = file(Some(label("text/csv")), Some(label("a.csv")));
        check(&named, Some("[file: a.csv]"), lost_file);
        let typed = file(Some(label("text/csv")), None);
        check(&typed, Some("[file: text/csv]"), lost_file);
        let thinking = Part::Thinking { text: "hm".into(), signature: None };
        check(&thinking, None, Some((LostContent::Thinking, Replacement::Nothing)));
        let redacted = Part::RedactedThinking("x".into());
        let lost_redacted = Some((LostContent::RedactedThinking, Replacement::Nothing));
        check(&redacted, None, lost_redacted);
        let item = Part::ProviderItem { provider: label("x"), item: JsonText::parse("{}").unwrap() };
        check(&item, None, Some((LostContent::ProviderItem, Replacement::Nothing)));
    }

    fn check(part: &Part, expected: Option<&str>, lost: Option<(LostContent, Replacement)>) {
        let mut notes = Notes::default();
        let written = text(part, Version(3), &mut notes);
        assert_eq!(written.as_deref(), expected, "{part:?}");
        let losses: Vec<_> = notes.losses.iter().map(|l| (l.lost, l.replacement)).collect();
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
        let lost = notes.losses.iter().any(|loss| loss.lost == LostContent::Outcome);
        assert_eq!(lost, call.answer.outcome == ToolOutcome::Failed);
    }
}
