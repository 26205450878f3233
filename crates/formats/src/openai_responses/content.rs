//! Renders the contents of messages and of outputs.

use std::borrow::Cow;

use context::Answer;
use domain::event::{ToolOutcome, ToolOutput};
use domain::{Part, Version};
use serde::de::IgnoredAny;

use crate::chat::texts::FAILED_PREFIX;
use crate::loss::{LostContent, text_form};

use super::body::{Content, ContentPart};
use super::draft::Draft;
use super::media::{file, file_text, image, image_text, is_empty_source};

/// The target of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// A user message, or the output of a tool: texts, images and files.
    Input,
    /// Instructions within the conversation: texts.
    Instructions,
    /// An assistant message: texts and refusals.
    Output,
}

/// Renders a part; `None` if it is empty or lost. Provider items are not content.
pub(super) fn content_part<'a>(
    draft: &mut Draft<'_>,
    version: Version,
    part: &'a Part,
    target: Target,
) -> Option<ContentPart<'a>> {
    match part {
        Part::Text(written) if written.is_empty() => None,
        Part::Text(written) => Some(text(target, Cow::Borrowed(written))),
        Part::Image { source, media_type, detail } => Some(if target == Target::Input && !is_empty_source(source) {
            image(draft, version, source, media_type.as_ref(), detail.as_ref())
        } else {
            draft.notes.turn_into_text(version, LostContent::Image);
            text(target, image_text(media_type.as_ref()))
        }),
        Part::File { source, media_type, filename } => Some(if target == Target::Input && !is_empty_source(source) {
            file(draft, version, source, media_type.as_ref(), filename.as_ref())
        } else {
            draft.notes.turn_into_text(version, LostContent::File);
            text(target, file_text(filename.as_ref(), media_type.as_ref()))
        }),
        Part::Refusal(refusal) => refused(draft, version, refusal, target),
        Part::Thinking { .. } | Part::RedactedThinking(_) | Part::ProviderItem { .. } => {
            // Thoughts of this provider are items, so other thoughts are lost.
            let (lost, _) = text_form(part);
            draft.notes.omit(version, lost);
            None
        }
    }
}

fn refused<'a>(draft: &mut Draft<'_>, version: Version, refusal: &'a str, target: Target) -> Option<ContentPart<'a>> {
    if refusal.is_empty() {
        return None;
    }
    if target == Target::Output {
        return Some(ContentPart::Refusal { refusal });
    }
    draft.notes.turn_into_text(version, LostContent::Refusal);
    Some(text(target, Cow::Borrowed(refusal)))
}

fn text(target: Target, text: Cow<'_, str>) -> ContentPart<'_> {
    match target {
        Target::Input | Target::Instructions => ContentPart::InputText { text },
        Target::Output => ContentPart::OutputText { text, annotations: [] },
    }
}

/// Renders the output of a call.
///
/// JSON is a string, verbatim. A single text is also a string, except if it is JSON: then it is in a list, so that parsing
/// can distinguish both.
pub(super) fn output<'a>(draft: &mut Draft<'_>, version: Version, answer: &'a Answer) -> Content<'a> {
    let failed = answer.outcome == ToolOutcome::Failed;
    if failed {
        draft.notes.turn_into_text(version, LostContent::Outcome);
    }
    match &answer.output {
        ToolOutput::Json(json) if failed => Content::Text(format!("{FAILED_PREFIX}{}", json.as_str()).into()),
        ToolOutput::Json(json) => Content::Text(json.as_str().into()),
        ToolOutput::Parts(parts) => {
            let mut parts: Vec<_> =
                parts.iter().filter_map(|part| content_part(draft, version, part, Target::Input)).collect();
            if failed {
                mark_failed(&mut parts);
            }
            listed(parts)
        }
    }
}

fn mark_failed(parts: &mut Vec<ContentPart<'_>>) {
    if let Some(ContentPart::InputText { text }) = parts.first_mut() {
        *text = format!("{FAILED_PREFIX}{text}").into();
    } else {
        parts.insert(0, text(Target::Input, FAILED_PREFIX.into()));
    }
}

fn listed(parts: Vec<ContentPart<'_>>) -> Content<'_> {
    let json = match parts.as_slice() {
        [] => return Content::Text(Cow::Borrowed("")),
        [ContentPart::InputText { text }] => serde_json::from_str::<IgnoredAny>(text).is_ok(),
        _ => true,
    };
    if json { Content::Parts(parts) } else { Content::from_parts(parts) }
}

#[cfg(test)]
mod tests {
    use domain::MediaSource;
    use domain::event::Role::{Assistant, User};

    use crate::tests::openai_responses::{Case, call, called, item, json, label, message_turn, text};

    use super::*;

    #[test]
    fn content_is_a_list_if_it_is_not_a_single_text() {
        check_turn(
            User,
            vec![text("a"), text(""), text("b")],
            &[
                r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}"#,
            ],
        );
        check_turn(
            Assistant,
            vec![text("a"), Part::Refusal("No.".to_owned())],
            &[
                r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]},{"type":"refusal","refusal":"No."}]}"#,
            ],
        );
        check_turn(
            User,
            vec![Part::Refusal("No.".to_owned())],
            &[r#"{"type":"message","role":"user","content":"No."}"#, "lost 1 refusal text"],
        );
    }

    #[test]
    fn thoughts_and_items_of_others_are_lost() {
        const ITEM: &str = r#"{"type":"web_search_call","id":"ws_1","status":"completed"}"#;
        const HI: &str = r#"{"type":"message","role":"assistant","content":"Hi"}"#;
        const NO_THOUGHT: &str = "lost 1 thinking nothing";
        const NO_ITEM: &str = "lost 1 provider_item nothing";
        let thinking = Part::Thinking { text: "Hm".to_owned(), signature: Some("s".to_owned()) };
        let foreign = Part::ProviderItem { provider: label("anthropic"), item: domain::JsonText::parse(ITEM).unwrap() };
        let sealed = Part::RedactedThinking("x".to_owned());
        check_turn(
            Assistant,
            vec![thinking, sealed, foreign, text("Hi")],
            &[HI, NO_THOUGHT, "lost 1 redacted_thinking nothing", NO_ITEM],
        );
        check_turn(
            User,
            vec![item(ITEM), text("Hi")],
            &[r#"{"type":"message","role":"user","content":"Hi"}"#, NO_ITEM],
        );
    }

    #[test]
    fn outputs_are_verbatim_and_distinguishable_from_json() {
        check_output(json("{\"b\":1, \"a\":1.0}"), r#""{\"b\":1, \"a\":1.0}""#);
        check_output(ToolOutput::Parts(vec![]), r#""""#);
        check_output(ToolOutput::Parts(vec![text("ok")]), r#""ok""#);
        check_output(ToolOutput::Parts(vec![text("1")]), r#"[{"type":"input_text","text":"1"}]"#);
        check_output(
            ToolOutput::Parts(vec![text("a"), text("b")]),
            r#"[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]"#,
        );
    }

    #[test]
    fn failures_have_a_prefix() {
        check_failed(json("{}"), r#""Error: {}""#);
        check_failed(ToolOutput::Parts(vec![]), r#""Error: ""#);
        check_failed(ToolOutput::Parts(vec![text("1")]), r#""Error: 1""#);
        check_failed(
            ToolOutput::Parts(vec![picture("data:,", None)]),
            r#"[{"type":"input_text","text":"Error: "},{"type":"input_image","image_url":"data:,","detail":"auto"}]"#,
        );
    }

    fn check_turn(role: domain::event::Role, parts: Vec<Part>, expected: &[&str]) {
        Case::of(vec![message_turn(role, parts)]).check(expected);
    }

    fn check_output(output: ToolOutput, expected: &str) {
        check_answer(output, ToolOutcome::Succeeded, expected, &[]);
    }

    fn check_failed(output: ToolOutput, expected: &str) {
        let losses = ["lost 9 outcome text"];
        check_answer(output, ToolOutcome::Failed, expected, &losses);
    }

    fn check_answer(output: ToolOutput, outcome: ToolOutcome, expected: &str, losses: &[&str]) {
        let mut call = call("a", "{}", output);
        call.answer.outcome = outcome;
        let made = r#"{"type":"function_call","call_id":"a","name":"search","arguments":"{}"}"#;
        let returned = format!(r#"{{"type":"function_call_output","call_id":"a","output":{expected}}}"#);
        let expected: Vec<&str> = [made, &returned].into_iter().chain(losses.iter().copied()).collect();
        Case::of(vec![called(Assistant, vec![], vec![call])]).check(&expected);
    }

    fn picture(url: &str, detail: Option<&str>) -> Part {
        Part::Image {
            source: MediaSource::Url(url.to_owned()),
            media_type: Some(label("image/png")),
            detail: detail.map(label),
        }
    }
}
