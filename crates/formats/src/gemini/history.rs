//! Parses the contents of a request into facts.

use std::fmt;

use domain::event::{MessageAppended, Role, ToolCalled, ToolReturned};
use domain::{CallId, Fact, Label, Part, ToolName};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::PROVIDER;
use super::errors::{invalid, malformed};
use super::read::{CallSignature, ParsedCall, ParsedPart, ParsedResult, read_part};
use crate::{ParseError, values};

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

/// Parses `systemInstruction` and `contents`. Each part of the instructions is a message. Each content is a message of its
/// role, then its calls; its results precede the message, because they belong to earlier calls.
///
/// A call without an id gets one from its position (`call_<content>_<part>`, from 0). A result without an id belongs to the
/// first open call of its tool. A call with [`super::SKIP_SIGNATURE`] is another provider's: it and its message have no
/// provider, except if the message has thoughts.
///
/// # Errors
/// [`ParseError::Malformed`] for another structure, an unknown role, or a result without a call;
/// [`ParseError::Unusable`] for a name, an id or a document that an event cannot contain.
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
            Some("model") => facts.extend(model_facts(parts, index, &mut open)?),
            Some("user" | "function") | None => {
                facts.extend(user_facts(parts, index, &mut open)?);
            }
            Some(_) => return Err(invalid(format!("contents[{index}].role is unknown"))),
        }
    }
    Ok(facts)
}

/// A call without a result.
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
            ParsedPart::Content(parts) if parts.is_empty() => {}
            ParsedPart::Content(parts) => facts.push(message(Role::System, parts, None)),
            ParsedPart::Call(_) | ParsedPart::Result(_) => {
                return Err(invalid(format!("{field} is a call or a result")));
            }
        }
    }
    Ok(facts)
}

fn read_content(content: &ReadContent<'_>, index: usize) -> Result<Vec<ParsedPart>, ParseError> {
    let parts = content.parts.iter().enumerate();
    parts.map(|(at, raw)| read_part(raw, &format!("contents[{index}].parts[{at}]"))).collect()
}

fn model_facts(parts: Vec<ParsedPart>, content: usize, open: &mut Vec<OpenCall>) -> Result<Vec<Fact>, ParseError> {
    open.clear();
    let (mut content_parts, mut calls) = (Vec::new(), Vec::new());
    for (at, part) in parts.into_iter().enumerate() {
        match part {
            ParsedPart::Content(parts) => content_parts.extend(parts),
            ParsedPart::Call(call) => calls.push((at, call)),
            ParsedPart::Result(_) => {
                return Err(invalid(format!("contents[{content}].parts[{at}] has a result in a model content")));
            }
        }
    }
    let skipped = |call: &ParsedCall| matches!(call.signature, CallSignature::Skipped);
    let own = !calls.iter().any(|(_, call)| skipped(call));
    let thinks = content_parts.iter().any(|part| matches!(part, Part::Thinking { .. }));
    let provider = Label::parse(PROVIDER).ok();
    let mut facts = vec![message(Role::Assistant, content_parts, provider.clone().filter(|_| own || thinks))];
    for (at, call) in calls {
        let called = called(call, provider.clone().filter(|_| own), PartPath { content, part: at })?;
        open.push(OpenCall { id: called.call_id.clone(), name: called.tool_name.clone() });
        facts.push(Fact::ToolCalled(called));
    }
    Ok(facts)
}

/// The path of a part in a request: the indexes of its content and of the part.
#[derive(Debug, Clone, Copy)]
struct PartPath {
    content: usize,
    part: usize,
}

impl PartPath {
    /// The id of a call without one.
    fn call_id(self) -> String {
        format!("call_{}_{}", self.content, self.part)
    }
}

impl fmt::Display for PartPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "contents[{}].parts[{}]", self.content, self.part)
    }
}

fn called(call: ParsedCall, provider: Option<Label>, path: PartPath) -> Result<ToolCalled, ParseError> {
    let id = call.id.unwrap_or_else(|| path.call_id());
    let signature = call.signature.own();
    let signed_by = signature.as_ref().and_then(|_| Label::parse(PROVIDER).ok());
    Ok(ToolCalled {
        provider: provider.or(signed_by),
        signature,
        ..ToolCalled::new(call_id(&id, path, "functionCall")?, call.name, call.input)
    })
}

fn call_id(id: &str, path: PartPath, kind: &str) -> Result<CallId, ParseError> {
    let field = format!("{path}.{kind}.id");
    values::call_id(&field, id)
}

fn user_facts(parts: Vec<ParsedPart>, content: usize, open: &mut Vec<OpenCall>) -> Result<Vec<Fact>, ParseError> {
    let (mut content_parts, mut facts) = (Vec::new(), Vec::new());
    for (at, part) in parts.into_iter().enumerate() {
        match part {
            ParsedPart::Content(parts) => content_parts.extend(parts),
            ParsedPart::Result(answer) => {
                facts.push(returned(answer, PartPath { content, part: at }, open)?);
            }
            ParsedPart::Call(_) => {
                return Err(invalid(format!("contents[{content}].parts[{at}] has a call in a user content")));
            }
        }
    }
    if !content_parts.is_empty() {
        facts.push(message(Role::User, content_parts, None));
    }
    Ok(facts)
}

fn returned(answer: ParsedResult, path: PartPath, open: &mut Vec<OpenCall>) -> Result<Fact, ParseError> {
    let given = answer.id.map(|id| call_id(&id, path, "functionResponse")).transpose()?;
    let answers = |call: &OpenCall| match &given {
        Some(id) => call.id == *id,
        None => call.name == answer.name,
    };
    let answered = open.iter().position(answers).map(|at| open.remove(at).id);
    let call_id = given.or(answered).ok_or_else(|| invalid(format!("{path} has no call")))?;
    Ok(Fact::ToolReturned(ToolReturned {
        call_id,
        tool_name: Some(answer.name),
        output: answer.output,
        outcome: answer.outcome,
    }))
}

fn message(role: Role, parts: Vec<Part>, provider: Option<Label>) -> Fact {
    Fact::MessageAppended(MessageAppended { provider, ..MessageAppended::new(role, parts) })
}

#[cfg(test)]
mod tests;
