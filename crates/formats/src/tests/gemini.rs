//! Builders of histories for the tests.

use context::{Answer, AnswerOrigin, AnsweredCall, Turn};
use domain::event::{Role, ToolCalled, ToolOutcome, ToolOutput};
use domain::{CallId, Fact, JsonText, Label, MediaSource, Part, ToolName, Version};

use crate::Rendered;

pub(crate) fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

pub(crate) fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

pub(crate) fn thought(text: &str, signature: Option<&str>) -> Part {
    Part::Thinking { text: text.to_owned(), signature: signature.map(str::to_owned) }
}

pub(crate) fn item(provider: &str, json: &str) -> Part {
    Part::ProviderItem { provider: label(provider), item: JsonText::parse(json).unwrap() }
}

pub(crate) fn turn(version: u64, role: Role, parts: Vec<Part>) -> Turn {
    Turn {
        version: Version(version),
        role,
        parts,
        author: None,
        provider: None,
        written: context::Written::BehindThis,
        calls: Vec::new(),
    }
}

pub(crate) fn user(version: u64, said: &str) -> Turn {
    turn(version, Role::User, vec![text(said)])
}

/// A turn of Gemini.
pub(crate) fn own(version: u64, parts: Vec<Part>, calls: Vec<AnsweredCall>) -> Turn {
    Turn { provider: Some(label("gemini")), calls, ..turn(version, Role::Assistant, parts) }
}

/// A turn of another provider.
pub(crate) fn foreign(version: u64, parts: Vec<Part>, calls: Vec<AnsweredCall>) -> Turn {
    Turn { provider: Some(label("anthropic")), ..own(version, parts, calls) }
}

/// A call of `search` with the result `{"n":1}`. A call with a signature is Gemini's.
pub(crate) fn call(version: u64, id: &str, input: &str, signature: Option<&str>) -> AnsweredCall {
    AnsweredCall {
        version: Version(version),
        called: ToolCalled {
            call_id: CallId::parse(id).unwrap(),
            tool_name: ToolName::parse("search").unwrap(),
            input: JsonText::parse(input).unwrap(),
            model: None,
            provider: signature.map(|_| label("gemini")),
            provider_response_id: None,
            signature: signature.map(str::to_owned),
        },
        answer: answered(r#"{"n":1}"#),
    }
}

pub(crate) fn answered(json: &str) -> Answer {
    Answer {
        output: ToolOutput::Json(JsonText::parse(json).unwrap()),
        outcome: ToolOutcome::Succeeded,
        origin: AnswerOrigin::Recorded(Version(99)),
    }
}

/// The turns of facts. A call without a result gets the result of [`call`].
#[expect(clippy::wildcard_enum_match_arm, reason = "a history is made of three kinds of fact")]
pub(crate) fn turns_from(facts: &[Fact]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for (version, fact) in (1..).zip(facts) {
        match fact {
            Fact::MessageAppended(message) => turns.push(Turn {
                provider: message.provider.clone(),
                ..turn(version, message.role, message.parts.clone())
            }),
            Fact::ToolCalled(called) => {
                let calls = &mut turns.last_mut().unwrap().calls;
                calls.push(AnsweredCall {
                    version: Version(version),
                    called: called.clone(),
                    answer: answered(r#"{"n":1}"#),
                });
            }
            Fact::ToolReturned(returned) => {
                let mut calls = turns.iter_mut().flat_map(|turn| turn.calls.iter_mut());
                let call = calls.rfind(|call| call.called.call_id == returned.call_id);
                let answer = &mut call.unwrap().answer;
                answer.output = returned.output.clone();
                answer.outcome = returned.outcome;
            }
            other => panic!("{:?} is not a fact of a history", other.kind()),
        }
    }
    turns
}

/// A fact in one line.
#[expect(clippy::wildcard_enum_match_arm, reason = "a history is made of three kinds of fact")]
pub(crate) fn describe_fact(fact: &Fact) -> String {
    let by = |provider: &Option<Label>| match provider {
        Some(provider) => format!("@{provider}"),
        None => String::new(),
    };
    match fact {
        Fact::MessageAppended(message) => {
            let (role, by) = (message.role.as_str(), by(&message.provider));
            format!("{role}{by}({})", describe_parts(&message.parts))
        }
        Fact::ToolCalled(call) => {
            let signature = call.signature.as_ref().map(|text| format!("^{text}"));
            let (id, by) = (&call.call_id, by(&call.provider));
            let (name, input) = (&call.tool_name, call.input.as_str());
            format!("{id}{by}:{name}{input}{}", signature.unwrap_or_default())
        }
        Fact::ToolReturned(returned) => {
            let output = match &returned.output {
                ToolOutput::Json(json) => json.as_str().to_owned(),
                ToolOutput::Parts(parts) => format!("({})", describe_parts(parts)),
            };
            format!("{}={:?}{output}", returned.call_id, returned.outcome)
        }
        other => panic!("{:?} is not a fact of a history", other.kind()),
    }
}

fn describe_parts(parts: &[Part]) -> String {
    let parts = parts.iter().map(|part| match part {
        Part::Text(text) => format!("t:{text}"),
        Part::Thinking { text, signature } => match signature {
            Some(signature) => format!("h:{text}^{signature}"),
            None => format!("h:{text}"),
        },
        Part::Image { source, .. } => format!("i:{}", address(source)),
        Part::File { source, .. } => format!("f:{}", address(source)),
        Part::ProviderItem { item, .. } => format!("p:{}", item.as_str()),
        Part::RedactedThinking(text) | Part::Refusal(text) => format!("x:{text}"),
    });
    parts.collect::<Vec<_>>().join(" ")
}

fn address(source: &MediaSource) -> &str {
    match source {
        MediaSource::Url(text) | MediaSource::FileId(text) => text,
    }
}

/// The losses in one line.
pub(crate) fn losses(rendered: &Rendered) -> String {
    let losses = rendered.losses.iter().map(|loss| {
        let (lost, replacement) = (loss.lost.as_str(), loss.replacement.as_str());
        format!("{} {lost} {replacement}", loss.version)
    });
    losses.collect::<Vec<_>>().join(", ")
}
