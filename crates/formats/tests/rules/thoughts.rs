//! Anthropic's thoughts over many trims: a thought is rendered only after the history that it was written after (A7).
//!
//! The newest loop is exempt: its model requires its thoughts, with any prefix.

use context::Policy;
use domain::event::{MessageAppended, Role, ToolCalled, ToolOutcome, ToolOutput, ToolReturned};
use domain::{CallId, Fact, JsonText, Label, Part, RecordedEvent, ToolName, Version};
use formats::{CallOutputs, Format, InstructionsRole, LostContent, RenderOptions, Thoughts, render};
use serde_json::Value;

use crate::growth::unmarked;
use crate::reading;
use crate::whole::{Ask, assembled, recorded};

const LOOPS: usize = 40;
/// A loop: a question, a thought with a call, its result, a thought with an answer.
const EVENTS: usize = 5;

#[test]
fn no_thought_is_rendered_after_another_prefix() {
    check("", "1", None);
    check(r#","low_water_percent":80"#, "1", None);
    check(r#"},"clear":{"fresh_percent":60"#, "1", None);
}

#[test]
fn no_thought_is_rendered_after_a_prefix_with_new_marks() {
    let pins = format!("[{}]", [r#"{"pin":7}"#; 12].join(","));
    check("", &pins, None);
    check(r#"},"clear":{"fresh_percent":60"#, &pins, None);
}

#[test]
fn no_thought_is_rendered_after_another_summary() {
    check("", "1", Some(20));
    check(r#","low_water_percent":80"#, "1", Some(33));
}

/// Extends a conversation with these results, and a summary of its first half at the end of a loop.
fn check(more: &str, result: &str, summarised: Option<usize>) {
    let json = format!(r#"{{"budget":{{"context_tokens_max":3000,"reserved_tokens":0{more}}}}}"#);
    let policy = Policy::parse(&json).unwrap();
    let events = conversation(result);
    // The last context of each loop's model.
    let mut requests: Vec<Vec<Value>> = vec![Vec::new(); LOOPS];
    let (mut kept_most, mut dropped, mut lines) = (0, 0, Vec::new());
    for index in 0..LOOPS {
        for until in [index * EVENTS + 1, index * EVENTS + 4] {
            let ask = Ask {
                through: Version::ZERO.plus(EVENTS * summarised.unwrap_or(0) / 2),
                summary: Version::ZERO.plus(EVENTS * summarised.unwrap_or(LOOPS)),
            };
            let assembled = assembled(&events[..until], &policy, ask).unwrap();
            lines.push(assembled.report.epoch.threshold);
            let rendered = render(Format::Anthropic, &assembled.transcript, &options());
            let messages: Vec<Value> =
                reading::elements(Format::Anthropic, &rendered.body).iter().map(|raw| unmarked(raw)).collect();
            let kept = replayed(&messages);
            for (place, writer) in kept.iter().filter(|(_, writer)| *writer < index) {
                assert!(
                    requests[*writer].starts_with(&messages[..*place]),
                    "{json}: at event {until} a thought of loop {writer} stands behind something else"
                );
            }
            kept_most = kept_most.max(kept.len());
            let losses = rendered.losses.iter();
            dropped += losses.filter(|loss| loss.lost == LostContent::Thinking).count();
            requests[index] = messages;
        }
    }
    lines.dedup();
    assert!(lines.len() > 3, "{json}: {lines:?}");
    assert!(kept_most > 3, "{json}: {kept_most} kept");
    assert!(dropped > 0, "{json}");
}

/// The rendered thoughts: index of the message, and of the loop.
fn replayed(messages: &[Value]) -> Vec<(usize, usize)> {
    let blocks = messages.iter().enumerate().flat_map(|(place, message)| {
        let blocks = message["content"].as_array().unwrap().iter();
        blocks.map(move |block| (place, block))
    });
    let signed = blocks.filter_map(|(place, block)| Some((place, block["signature"].as_str()?)));
    signed.map(|(place, signature)| (place, signature.parse().unwrap())).collect()
}

fn options() -> RenderOptions {
    RenderOptions {
        instructions_role: InstructionsRole::System,
        thoughts: Thoughts::Replay,
        call_outputs: CallOutputs::Together,
        cache_key: Some("key".to_owned()),
        context_tokens_max: None,
    }
}

fn conversation(result: &str) -> Vec<RecordedEvent> {
    let facts = (0..LOOPS).flat_map(|index| {
        let words = " word".repeat(10 + index * 37 % 50);
        let id = CallId::parse(format!("c{index}")).unwrap();
        let name = ToolName::parse("search").unwrap();
        let output = format!(r#"{{"of":{index},"is":{result},"more":"{words}"}}"#);
        [
            said(Role::User, vec![Part::Text(format!("{index}?{words}"))]),
            said(Role::Assistant, vec![thought(index)]),
            Fact::ToolCalled(ToolCalled {
                call_id: id.clone(),
                tool_name: name.clone(),
                input: JsonText::parse("{}").unwrap(),
                model: None,
                provider: Label::parse("anthropic").ok(),
                provider_response_id: None,
                signature: None,
            }),
            Fact::ToolReturned(ToolReturned {
                call_id: id,
                tool_name: Some(name),
                output: ToolOutput::Json(JsonText::parse(output).unwrap()),
                outcome: ToolOutcome::Succeeded,
            }),
            said(Role::Assistant, vec![thought(index), Part::Text(format!("{index}.{words}"))]),
        ]
    });
    recorded(facts.collect())
}

fn said(role: Role, parts: Vec<Part>) -> Fact {
    Fact::MessageAppended(MessageAppended {
        provider: Label::parse("anthropic").ok(),
        ..MessageAppended::new(role, parts)
    })
}

/// A thought whose signature is the number of its loop.
fn thought(index: usize) -> Part {
    Part::Thinking { text: format!("Loop {index}: what next?"), signature: Some(index.to_string()) }
}
