//! The contents of messages and of tools' outputs, part by part.

use std::borrow::Cow;

use context::Answer;
use domain::event::{ToolOutcome, ToolOutput};
use domain::{Part, Version};
use serde::de::IgnoredAny;

use crate::loss::{Became, Lost};

use super::body::{Content, ContentPart};
use super::draft::Draft;
use super::media::{file, file_text, image, image_text, is_nowhere};

/// What stands before the output of a tool that failed: the form has no sign for it.
const FAILED_PREFIX: &str = "Error: ";

/// What may stand where a part is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A user's message, or a tool's output: texts, pictures and files.
    Input,
    /// Instructions among the turns: texts.
    Instructions,
    /// The assistant's message: its texts and refusals.
    Output,
}

/// One part as content; none where it is empty or lost. The provider's own items are not content: nor are they here.
pub(super) fn content_part<'a>(
    draft: &mut Draft<'_>,
    version: Version,
    part: &'a Part,
    place: Place,
) -> Option<ContentPart<'a>> {
    match part {
        Part::Text(written) if written.is_empty() => None,
        Part::Text(written) => Some(text(place, Cow::Borrowed(written))),
        Part::Image {
            source,
            media_type,
            detail,
        } => Some(if place == Place::Input && !is_nowhere(source) {
            image(draft, version, source, media_type.as_ref(), detail.as_ref())
        } else {
            draft.lose(version, Lost::Image, Became::Text);
            text(place, image_text(media_type.as_ref()))
        }),
        Part::File {
            source,
            media_type,
            filename,
        } => Some(if place == Place::Input && !is_nowhere(source) {
            file(
                draft,
                version,
                source,
                media_type.as_ref(),
                filename.as_ref(),
            )
        } else {
            draft.lose(version, Lost::File, Became::Text);
            text(place, file_text(filename.as_ref(), media_type.as_ref()))
        }),
        Part::Refusal(refusal) => refused(draft, version, refusal, place),
        Part::Thinking { .. } | Part::RedactedThinking(_) | Part::ProviderItem { .. } => {
            lost(draft, version, part);
            None
        }
    }
}

fn refused<'a>(
    draft: &mut Draft<'_>,
    version: Version,
    refusal: &'a str,
    place: Place,
) -> Option<ContentPart<'a>> {
    if refusal.is_empty() {
        return None;
    }
    if place == Place::Output {
        return Some(ContentPart::Refusal { refusal });
    }
    draft.lose(version, Lost::Refusal, Became::Text);
    Some(text(place, Cow::Borrowed(refusal)))
}

/// Thoughts that are no items of the provider cannot be its own: its own are items.
fn lost(draft: &mut Draft<'_>, version: Version, part: &Part) {
    let lost = match part {
        Part::Thinking { .. } => Lost::Thinking,
        Part::RedactedThinking(_) => Lost::RedactedThinking,
        Part::Text(_)
        | Part::Image { .. }
        | Part::File { .. }
        | Part::Refusal(_)
        | Part::ProviderItem { .. } => Lost::ProviderItem,
    };
    draft.lose(version, lost, Became::Nothing);
}

fn text(place: Place, text: Cow<'_, str>) -> ContentPart<'_> {
    match place {
        Place::Input | Place::Instructions => ContentPart::InputText { text },
        Place::Output => ContentPart::OutputText {
            text,
            annotations: [],
        },
    }
}

/// What a call's output holds.
///
/// JSON stands as it is, in a string. So does one text, unless it would be read as JSON: then it stands in a list, so that
/// both are told apart when a history is read back.
pub(super) fn output<'a>(
    draft: &mut Draft<'_>,
    version: Version,
    answer: &'a Answer,
) -> Content<'a> {
    let failed = answer.outcome == ToolOutcome::Failed;
    if failed {
        draft.lose(version, Lost::Outcome, Became::Text);
    }
    match &answer.output {
        ToolOutput::Json(json) if failed => {
            Content::Text(format!("{FAILED_PREFIX}{}", json.as_str()).into())
        }
        ToolOutput::Json(json) => Content::Text(json.as_str().into()),
        ToolOutput::Parts(parts) => {
            let parts = parts
                .iter()
                .filter_map(|part| content_part(draft, version, part, Place::Input));
            let mut parts: Vec<_> = parts.collect();
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
        parts.insert(0, text(Place::Input, FAILED_PREFIX.into()));
    }
}

fn listed(parts: Vec<ContentPart<'_>>) -> Content<'_> {
    let json = match parts.as_slice() {
        [] => return Content::Text(Cow::Borrowed("")),
        [ContentPart::InputText { text }] => serde_json::from_str::<IgnoredAny>(text).is_ok(),
        _ => true,
    };
    if json {
        Content::Parts(parts)
    } else {
        Content::of_message(parts)
    }
}

#[cfg(test)]
mod tests {
    use domain::MediaSource;
    use domain::event::Role::{Assistant, User};

    use crate::openai_responses::testing::{Case, call, called, item, json, label, said, text};

    use super::*;

    #[test]
    fn a_list_stands_where_one_text_does_not_do() {
        check_said(
            User,
            vec![text("a"), text(""), text("b")],
            &[
                r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}"#,
            ],
        );
        check_said(
            Assistant,
            vec![text("a"), Part::Refusal("No.".to_owned())],
            &[
                r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]},{"type":"refusal","refusal":"No."}]}"#,
            ],
        );
        check_said(
            User,
            vec![Part::Refusal("No.".to_owned())],
            &[
                r#"{"type":"message","role":"user","content":"No."}"#,
                "lost 1 refusal text",
            ],
        );
    }

    #[test]
    fn what_is_not_the_providers_own_is_lost() {
        const ITEM: &str = r#"{"type":"web_search_call","id":"ws_1","status":"completed"}"#;
        const HI: &str = r#"{"type":"message","role":"assistant","content":"Hi"}"#;
        const NO_THOUGHT: &str = "lost 1 thinking nothing";
        const NO_ITEM: &str = "lost 1 provider_item nothing";
        let thinking = Part::Thinking {
            text: "Hm".to_owned(),
            signature: Some("s".to_owned()),
        };
        let foreign = Part::ProviderItem {
            provider: label("anthropic"),
            item: domain::JsonText::parse(ITEM).unwrap(),
        };
        let sealed = Part::RedactedThinking("x".to_owned());
        check_said(
            Assistant,
            vec![thinking, sealed, foreign, text("Hi")],
            &[HI, NO_THOUGHT, "lost 1 redacted_thinking nothing", NO_ITEM],
        );
        check_said(
            User,
            vec![item(ITEM), text("Hi")],
            &[
                r#"{"type":"message","role":"user","content":"Hi"}"#,
                NO_ITEM,
            ],
        );
    }

    #[test]
    fn outputs_are_verbatim_or_told_from_json() {
        check_output(json("{\"b\":1, \"a\":1.0}"), r#""{\"b\":1, \"a\":1.0}""#);
        check_output(ToolOutput::Parts(vec![]), r#""""#);
        check_output(ToolOutput::Parts(vec![text("ok")]), r#""ok""#);
        check_output(
            ToolOutput::Parts(vec![text("1")]),
            r#"[{"type":"input_text","text":"1"}]"#,
        );
        check_output(
            ToolOutput::Parts(vec![text("a"), text("b")]),
            r#"[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]"#,
        );
    }

    #[test]
    fn failures_are_told_in_words() {
        check_failed(json("{}"), r#""Error: {}""#);
        check_failed(ToolOutput::Parts(vec![]), r#""Error: ""#);
        check_failed(ToolOutput::Parts(vec![text("1")]), r#""Error: 1""#);
        check_failed(
            ToolOutput::Parts(vec![picture("data:,", None)]),
            r#"[{"type":"input_text","text":"Error: "},{"type":"input_image","image_url":"data:,","detail":"auto"}]"#,
        );
    }

    fn check_said(role: domain::event::Role, parts: Vec<Part>, expected: &[&str]) {
        Case::of(vec![said(role, parts)]).check(expected);
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
        let returned =
            format!(r#"{{"type":"function_call_output","call_id":"a","output":{expected}}}"#);
        let expected: Vec<&str> = [made, &returned]
            .into_iter()
            .chain(losses.iter().copied())
            .collect();
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
