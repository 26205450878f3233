//! A request to Anthropic as facts.

use domain::event::{MessageAppended, Role};
use domain::{Fact, Part};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::reply::ParseError;

use super::errors::{malformed, provider, read_bytes};
use super::list::{CONTINUE, OPENER};
use super::reading::{self, Said};

/// Reads `system` and `messages` of a request as facts, in order; all other fields are passed over.
///
/// Each block of `system` is a message of instructions. A message with thoughts names Anthropic as its provider: thoughts
/// are no one else's there; of others nothing is known. A text that a rendering put where no one spoke ([`OPENER`],
/// [`CONTINUE`]) is no one's message. A result that is a JSON text is a document, any other is parts.
///
/// # Errors
/// [`ParseError::Malformed`] if it is no request, [`ParseError::Unusable`] if an id, a name or a document breaks a bound.
pub fn parse_history(body: &[u8]) -> Result<Vec<Fact>, ParseError> {
    let request: Request<'_> = read_bytes(body)?;
    let mut facts = Vec::new();
    if let Some(system) = request.system {
        for part in reading::content(system, "system")?.parts {
            facts.push(message(Role::System, vec![part]));
        }
    }
    for (index, written) in request.messages.iter().enumerate() {
        let said = reading::content(written.content, &format!("messages[{index}].content"))?;
        match written.role.as_str() {
            "user" => users(said, &mut facts),
            "assistant" => assistants(said, &mut facts)?,
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

fn users(said: Said, facts: &mut Vec<Fact>) {
    let is_stand_in = said.results.is_empty()
        && matches!(said.parts.as_slice(), [Part::Text(text)] if text == OPENER || text == CONTINUE);
    facts.extend(said.results.into_iter().map(Fact::ToolReturned));
    if !said.parts.is_empty() && !is_stand_in {
        facts.push(message(Role::User, said.parts));
    }
}

/// The message stands also for calls alone, so that they are not taken for the turn's before it.
fn assistants(said: Said, facts: &mut Vec<Fact>) -> Result<(), ParseError> {
    if said.parts.is_empty() && said.calls.is_empty() {
        return Ok(());
    }
    let thinks = |part| matches!(part, &Part::Thinking { .. } | &Part::RedactedThinking(_));
    let provider = if said.parts.iter().any(thinks) {
        Some(provider()?)
    } else {
        None
    };
    facts.push(Fact::MessageAppended(MessageAppended {
        provider: provider.clone(),
        ..MessageAppended::said(Role::Assistant, said.parts)
    }));
    for mut call in said.calls {
        call.provider.clone_from(&provider);
        facts.push(Fact::ToolCalled(call));
    }
    Ok(())
}

fn message(role: Role, parts: Vec<Part>) -> Fact {
    Fact::MessageAppended(MessageAppended::said(role, parts))
}
