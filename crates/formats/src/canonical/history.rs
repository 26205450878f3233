//! Parses a context in the canonical format into facts.

use context::{AnsweredCall, Turn};
use domain::event::{MessageAppended, Role, ToolReturned};
use domain::{Fact, Part};

use super::parse::parse;
use crate::reply::ParseError;

/// Parses a context into facts: instructions become system messages, opening and closing become user messages.
///
/// # Errors
/// As [`parse()`].
pub fn parse_history(body: &[u8]) -> Result<Vec<Fact>, ParseError> {
    let transcript = parse(body)?;
    let instructions = transcript.instructions.into_iter().map(|text| text_message(Role::System, text));
    let user = |text| text_message(Role::User, text);
    let opening = transcript.opening.map(user);
    let closing = transcript.closing.map(user);
    let turns = transcript.turns.into_iter().flat_map(facts);
    Ok(instructions.chain(opening).chain(turns).chain(closing).collect())
}

fn text_message(role: Role, text: String) -> Fact {
    Fact::MessageAppended(MessageAppended::new(role, vec![Part::Text(text)]))
}

fn facts(turn: Turn) -> Vec<Fact> {
    let is_calls_alone = turn.parts.is_empty() && !turn.calls.is_empty();
    let appended =
        MessageAppended { author: turn.author, provider: turn.provider, ..MessageAppended::new(turn.role, turn.parts) };
    let message = (!is_calls_alone).then_some(Fact::MessageAppended(appended));
    let calls = turn.calls.into_iter().map(call_and_result);
    let (calls, results): (Vec<Fact>, Vec<Fact>) = calls.unzip();
    message.into_iter().chain(calls).chain(results).collect()
}

fn call_and_result(call: AnsweredCall) -> (Fact, Fact) {
    let returned = ToolReturned {
        call_id: call.called.call_id.clone(),
        tool_name: Some(call.called.tool_name.clone()),
        output: call.answer.output,
        outcome: call.answer.outcome,
    };
    (Fact::ToolCalled(call.called), Fact::ToolReturned(returned))
}
