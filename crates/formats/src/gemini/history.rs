//! Reads a request's contents back.

use std::fmt;

use domain::event::{MessageAppended, Role, ToolCalled, ToolReturned};
use domain::{CallId, Fact, Label, Part, ToolName};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::PROVIDER;
use super::fault::{malformed, misshapen, unusable};
use super::read::{CallSignature, ReadAnswer, ReadCall, ReadPart, read_part};
use crate::ParseError;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(borrow, alias = "system_instruction")]
    system_instruction: Option<ReadContent<'a>>,
    #[serde(borrow)]
    contents: Vec<ReadContent<'a>>,
}

#[derive(Debug, Deserialize)]
struct ReadContent<'a> {
    role: Option<String>,
    #[serde(borrow, default)]
    parts: Vec<&'a RawValue>,
}

/// Reads `systemInstruction` and `contents`: each part of the instructions is a message; each content a message of its
/// role, then its calls; its results come before the message, since they answer what stands before it.
///
/// A call without an id gets one from its place (`call_<content>_<part>`, counted from 0), and a result without one answers
/// the first open call of its tool. A call that carries [`super::SKIP_SIGNATURE`] is taken for another's: it and what was
/// said with it name no provider, unless thoughts are there.
///
/// # Errors
/// [`ParseError::Malformed`] for another shape, an unknown role, or a result that answers no call;
/// [`ParseError::Unusable`] for a name, id or document that no event can hold.
pub fn parse_history(body: &[u8]) -> Result<Vec<Fact>, ParseError> {
    let request: Request<'_> = serde_json::from_slice(body).map_err(|error| malformed(&error))?;
    let mut facts = match request.system_instruction {
        Some(instruction) => instructions(&instruction)?,
        None => Vec::new(),
    };
    let mut open = Vec::new();
    for (index, content) in request.contents.iter().enumerate() {
        let parts = read_content(content, index)?;
        match content.role.as_deref() {
            Some("model") => facts.extend(said_by_model(parts, index, &mut open)?),
            Some("user" | "function") | None => {
                facts.extend(said_by_user(parts, index, &mut open)?);
            }
            Some(_) => return Err(misshapen(format!("contents[{index}].role is unknown"))),
        }
    }
    Ok(facts)
}

/// A call that has no result yet.
#[derive(Debug)]
struct OpenCall {
    id: CallId,
    name: ToolName,
}

fn instructions(instruction: &ReadContent<'_>) -> Result<Vec<Fact>, ParseError> {
    let mut facts = Vec::new();
    for (index, raw) in instruction.parts.iter().enumerate() {
        let field = format!("systemInstruction.parts[{index}]");
        match read_part(raw, &field)? {
            ReadPart::Said(parts) if parts.is_empty() => {}
            ReadPart::Said(parts) => facts.push(message(Role::System, parts, None)),
            ReadPart::Call(_) | ReadPart::Answer(_) => {
                return Err(misshapen(format!("{field} calls or answers")));
            }
        }
    }
    Ok(facts)
}

fn read_content(content: &ReadContent<'_>, index: usize) -> Result<Vec<ReadPart>, ParseError> {
    let parts = content.parts.iter().enumerate();
    parts
        .map(|(at, raw)| read_part(raw, &format!("contents[{index}].parts[{at}]")))
        .collect()
}

fn said_by_model(
    parts: Vec<ReadPart>,
    content: usize,
    open: &mut Vec<OpenCall>,
) -> Result<Vec<Fact>, ParseError> {
    open.clear();
    let (mut said, mut calls) = (Vec::new(), Vec::new());
    for (at, part) in parts.into_iter().enumerate() {
        match part {
            ReadPart::Said(parts) => said.extend(parts),
            ReadPart::Call(call) => calls.push((at, call)),
            ReadPart::Answer(_) => {
                return Err(misshapen(format!(
                    "contents[{content}].parts[{at}] answers for a model"
                )));
            }
        }
    }
    let skipped = |call: &ReadCall| matches!(call.signature, CallSignature::Skipped);
    let own = !calls.iter().any(|(_, call)| skipped(call));
    let thinks = said
        .iter()
        .any(|part| matches!(part, Part::Thinking { .. }));
    let provider = Label::parse(PROVIDER).ok();
    let mut facts = vec![message(
        Role::Assistant,
        said,
        provider.clone().filter(|_| own || thinks),
    )];
    for (at, call) in calls {
        let called = called(
            call,
            provider.clone().filter(|_| own),
            Place { content, part: at },
        )?;
        open.push(OpenCall {
            id: called.call_id.clone(),
            name: called.tool_name.clone(),
        });
        facts.push(Fact::ToolCalled(called));
    }
    Ok(facts)
}

/// A part of a request: the index of its content, and its own in there.
#[derive(Debug, Clone, Copy)]
struct Place {
    content: usize,
    part: usize,
}

impl Place {
    /// The id of a call without one.
    fn call_id(self) -> String {
        format!("call_{}_{}", self.content, self.part)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "contents[{}].parts[{}]", self.content, self.part)
    }
}

fn called(call: ReadCall, provider: Option<Label>, place: Place) -> Result<ToolCalled, ParseError> {
    let id = call.id.unwrap_or_else(|| place.call_id());
    let signature = match call.signature {
        CallSignature::Own(signature) => Some(signature),
        CallSignature::Skipped | CallSignature::Absent => None,
    };
    let signed_by = signature.as_ref().and_then(|_| Label::parse(PROVIDER).ok());
    Ok(ToolCalled {
        call_id: call_id(id, place, "functionCall")?,
        tool_name: call.name,
        input: call.input,
        model: None,
        provider: provider.or(signed_by),
        provider_response_id: None,
        signature,
    })
}

fn call_id(id: String, place: Place, kind: &str) -> Result<CallId, ParseError> {
    let field = format!("{place}.{kind}.id");
    CallId::parse(id).map_err(|violation| unusable(field, &violation))
}

fn said_by_user(
    parts: Vec<ReadPart>,
    content: usize,
    open: &mut Vec<OpenCall>,
) -> Result<Vec<Fact>, ParseError> {
    let (mut said, mut facts) = (Vec::new(), Vec::new());
    for (at, part) in parts.into_iter().enumerate() {
        match part {
            ReadPart::Said(parts) => said.extend(parts),
            ReadPart::Answer(answer) => {
                facts.push(returned(answer, Place { content, part: at }, open)?);
            }
            ReadPart::Call(_) => {
                return Err(misshapen(format!(
                    "contents[{content}].parts[{at}] calls for the user"
                )));
            }
        }
    }
    if !said.is_empty() {
        facts.push(message(Role::User, said, None));
    }
    Ok(facts)
}

fn returned(
    answer: ReadAnswer,
    place: Place,
    open: &mut Vec<OpenCall>,
) -> Result<Fact, ParseError> {
    let given = match answer.id {
        Some(id) => Some(call_id(id, place, "functionResponse")?),
        None => None,
    };
    let answers = |call: &OpenCall| match &given {
        Some(id) => call.id == *id,
        None => call.name == answer.name,
    };
    let answered = open.iter().position(answers).map(|at| open.remove(at).id);
    let call_id = given
        .or(answered)
        .ok_or_else(|| misshapen(format!("{place} answers no call")))?;
    Ok(Fact::ToolReturned(ToolReturned {
        call_id,
        tool_name: Some(answer.name),
        output: answer.output,
        outcome: answer.outcome,
    }))
}

fn message(role: Role, parts: Vec<Part>, provider: Option<Label>) -> Fact {
    Fact::MessageAppended(MessageAppended {
        role,
        parts,
        author: None,
        model: None,
        provider,
        provider_response_id: None,
        finish_reason: None,
        usage: None,
    })
}

#[cfg(test)]
mod tests;
