//! Builders of transcripts for the tests of both formats.

use context::{Answer, AnswerOrigin, AnsweredCall, Transcript, Turn};
use domain::event::{Role, ToolCalled, ToolOutcome, ToolOutput};
use domain::{CallId, Fact, JsonText, Label, MediaSource, Part, ToolName, Version};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::loss::Loss;
use crate::rendered::Rendered;

pub(crate) fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

pub(crate) fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

pub(crate) fn thought(text: &str) -> Part {
    Part::Thinking { text: text.to_owned(), signature: None }
}

pub(crate) fn image(url: &str, detail: Option<&str>) -> Part {
    Part::Image { source: MediaSource::Url(url.to_owned()), media_type: None, detail: detail.map(label) }
}

pub(crate) fn item(provider: &str, json: &str) -> Part {
    Part::ProviderItem { provider: label(provider), item: JsonText::parse(json).unwrap() }
}

pub(crate) fn json(text: &str) -> ToolOutput {
    ToolOutput::Json(JsonText::parse(text).unwrap())
}

pub(crate) fn turn(role: Role, parts: Vec<Part>) -> Turn {
    Turn {
        version: Version(1),
        role,
        parts,
        author: None,
        provider: None,
        written: context::Written::BehindThis,
        calls: Vec::new(),
    }
}

pub(crate) fn user(said: &str) -> Turn {
    turn(Role::User, vec![text(said)])
}

pub(crate) fn calling(parts: Vec<Part>, calls: Vec<AnsweredCall>) -> Turn {
    Turn { calls, ..turn(Role::Assistant, parts) }
}

pub(crate) fn answered(id: &str, tool: &str, output: ToolOutput) -> AnsweredCall {
    AnsweredCall {
        version: Version(1),
        called: ToolCalled {
            call_id: CallId::parse(id).unwrap(),
            tool_name: ToolName::parse(tool).unwrap(),
            input: JsonText::parse("{\"q\": 1.50}").unwrap(),
            model: None,
            provider: None,
            provider_response_id: None,
            signature: None,
        },
        answer: Answer { output, outcome: ToolOutcome::Succeeded, origin: AnswerOrigin::Recorded(Version(2)) },
    }
}

pub(crate) fn failed(id: &str, tool: &str, output: ToolOutput) -> AnsweredCall {
    let mut call = answered(id, tool, output);
    call.answer.outcome = ToolOutcome::Failed;
    call
}

pub(crate) fn with_input(mut call: AnsweredCall, input: &str) -> AnsweredCall {
    call.called.input = JsonText::parse(input).unwrap();
    call
}

/// A readable rendering: the body verbatim with one message per line, and the losses.
pub(crate) fn readable(rendered: &Rendered) -> String {
    #[derive(Deserialize)]
    struct Body<'a> {
        #[serde(borrow)]
        messages: Vec<&'a RawValue>,
    }
    let body = str::from_utf8(&rendered.body).unwrap();
    let (head, _) = body.split_once("\"messages\":[").unwrap();
    let Body { messages } = serde_json::from_str(body).unwrap();
    let messages: Vec<&str> = messages.iter().map(|raw| raw.get()).collect();
    let losses = describe_losses(&rendered.losses);
    format!("{head}\n{}\nlosses: {losses}", messages.join("\n"))
}

/// Losses in short: version, lost content, replacement.
pub(crate) fn describe_losses(losses: &[Loss]) -> String {
    let losses = losses.iter().map(|loss| {
        let (lost, replacement) = (loss.lost.as_str(), loss.replacement.as_str());
        format!("{} {lost} {replacement}", loss.version)
    });
    losses.collect::<Vec<_>>().join(", ")
}

/// Facts in short, one per line.
pub(crate) fn describe_facts(facts: &[Fact]) -> Vec<String> {
    facts.iter().map(describe_fact).collect()
}

fn describe_fact(fact: &Fact) -> String {
    if let Fact::MessageAppended(message) = fact {
        let author = message.author.as_ref().map(|author| format!("({author})"));
        let role = message.role.as_str();
        return format!("{role}{} {:?}", author.unwrap_or_default(), message.parts);
    }
    if let Fact::ToolCalled(call) = fact {
        let input = call.input.as_str();
        return format!("call {} {} {input}", call.call_id, call.tool_name);
    }
    let Fact::ToolReturned(result) = fact else {
        panic!("unexpected fact: {:?}", fact.kind());
    };
    let tool = result.tool_name.as_ref().map_or("-", ToolName::as_str);
    format!("result {} {tool} {:?}", result.call_id, result.output)
}

/// A transcript of these turns, with versions from 1.
pub(crate) fn transcript(turns: Vec<Turn>) -> Transcript {
    let turns = (1..).zip(turns).map(|(version, turn)| Turn { version: Version(version), ..turn });
    Transcript { turns: turns.collect(), ..Transcript::default() }
}
