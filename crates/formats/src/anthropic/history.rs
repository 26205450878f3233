//! Parses requests to Anthropic into facts.

use domain::event::{MessageAppended, Role};
use domain::{Fact, Part};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::reply::ParseError;

use super::errors::{malformed, provider, read_bytes};
use super::list::{CONTINUE, OPENER};
use super::parse::{self, MessageContent};

/// Parses `system` and `messages` of a request into facts, in order. Other fields are ignored.
///
/// Each block of `system` is a message with instructions. A message with thoughts has Anthropic as its provider; for other
/// messages the provider is unknown. The texts that rendering inserts ([`OPENER`], [`CONTINUE`]) are not messages. A result
/// with a JSON text is a document; other results are parts.
///
/// # Errors
/// [`ParseError::Malformed`] if the body is not a request, [`ParseError::Unusable`] if an id, a name or a document exceeds a
/// bound.
pub fn parse_history(body: &[u8]) -> Result<Vec<Fact>, ParseError> {
    let request: Request<'_> = read_bytes(body)?;
    let mut facts = Vec::new();
    if let Some(system) = request.system {
        for part in parse::content(system, "system")?.parts {
            facts.push(message(Role::System, vec![part]));
        }
    }
    for (index, written) in request.messages.iter().enumerate() {
        let content = parse::content(written.content, &format!("messages[{index}].content"))?;
        match written.role.as_str() {
            "user" => users(content, &mut facts),
            "assistant" => assistants(content, &mut facts)?,
            _ => return Err(malformed(&format!("messages[{index}].role is not known"))),
        }
    }
    Ok(facts)
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow, default)]
    system: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: Vec<Message<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    role: String,
    #[serde(borrow)]
    content: &'a RawValue,
}

fn users(content: MessageContent, facts: &mut Vec<Fact>) {
    let is_stand_in = content.results.is_empty()
        && matches!(content.parts.as_slice(), [Part::Text(text)] if text == OPENER || text == CONTINUE);
    facts.extend(content.results.into_iter().map(Fact::ToolReturned));
    if !content.parts.is_empty() && !is_stand_in {
        facts.push(message(Role::User, content.parts));
    }
}

/// Adds a message even for calls without parts, so that they do not join the turn before them.
fn assistants(content: MessageContent, facts: &mut Vec<Fact>) -> Result<(), ParseError> {
    if content.parts.is_empty() && content.calls.is_empty() {
        return Ok(());
    }
    let thinks = |part| matches!(part, &Part::Thinking { .. } | &Part::RedactedThinking(_));
    let provider = if content.parts.iter().any(thinks) { Some(provider()?) } else { None };
    facts.push(Fact::MessageAppended(MessageAppended {
        provider: provider.clone(),
        ..MessageAppended::new(Role::Assistant, content.parts)
    }));
    for mut call in content.calls {
        call.provider.clone_from(&provider);
        facts.push(Fact::ToolCalled(call));
    }
    Ok(())
}

fn message(role: Role, parts: Vec<Part>) -> Fact {
    Fact::MessageAppended(MessageAppended::new(role, parts))
}
