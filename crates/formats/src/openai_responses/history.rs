//! Parses the history in a request into facts.

use std::collections::BTreeMap;

use domain::event::{MessageAppended, Role, ToolCalled, ToolOutcome, ToolReturned};
use domain::{CallId, Fact, Part, ToolName};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::reply::ParseError;

use super::decode::{borrowed, malformed};
use super::parts::{output, parts};
use super::pieces::{Piece, split_before_message, split_turn};
use super::read::{ParsedCall, ParsedItem, read};

#[derive(Deserialize)]
struct Request<'a> {
    instructions: Option<String>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

/// The parsed facts, and the state of the open turn.
#[derive(Default)]
struct History {
    facts: Vec<Fact>,
    /// The open assistant turn.
    turn: Vec<Piece>,
    /// The tools of the parsed calls.
    tools: BTreeMap<CallId, ToolName>,
}

/// Parses `instructions`, as a system message, and `input`.
///
/// Messages have no provider, because the request does not contain it. Items without a canonical form are kept verbatim in
/// assistant messages. All results are successful, because outputs do not contain failures.
///
/// # Errors
/// [`ParseError::Malformed`], and [`ParseError::Unusable`] for values that an event cannot contain.
pub fn parse_history(body: &[u8]) -> Result<Vec<Fact>, ParseError> {
    let request: Request<'_> = serde_json::from_slice(body).map_err(|error| malformed(&error, ""))?;
    let mut history = History::default();
    if let Some(text) = request.instructions.filter(|text| !text.is_empty()) {
        history.push_message(Role::System, vec![Part::Text(text)]);
    }
    match request.input {
        Some(input) if input.get().starts_with('"') => {
            let parts = parts(input, "input")?;
            history.push_message(Role::User, parts);
        }
        Some(input) => {
            let items: Vec<&RawValue> = borrowed(input, "input")?;
            for (index, item) in items.into_iter().enumerate() {
                history.item(item, &format!("input[{index}]"))?;
            }
        }
        None => {}
    }
    history.end_turn()?;
    Ok(history.facts)
}

impl History {
    fn item(&mut self, item: &RawValue, path: &str) -> Result<(), ParseError> {
        match read(item, path)? {
            ParsedItem::Message { role: Role::Assistant, phase, parts } => {
                if let Some(begun) = split_before_message(&mut self.turn) {
                    self.end_turn()?;
                    self.turn = begun;
                }
                self.turn.push(Piece::Message { phase, parts });
            }
            ParsedItem::Message { role, parts, .. } => {
                self.end_turn()?;
                self.push_message(role, parts);
            }
            ParsedItem::Call(call) => {
                let (id, name) = (call.call_id.clone(), call.tool_name.clone());
                self.tools.insert(id, name);
                self.turn.push(Piece::Call(call));
            }
            ParsedItem::Output { call_id, output: content } => {
                self.end_turn()?;
                self.facts.push(Fact::ToolReturned(ToolReturned {
                    tool_name: self.tools.get(&call_id).cloned(),
                    call_id,
                    output: output(content, &format!("{path}.output"))?,
                    outcome: ToolOutcome::Succeeded,
                }));
            }
            ParsedItem::Other(item) => self.turn.push(Piece::Item(item)),
        }
        Ok(())
    }

    /// Adds a message; one without parts is omitted.
    fn push_message(&mut self, role: Role, parts: Vec<Part>) {
        if parts.is_empty() {
            return;
        }
        self.facts.push(Fact::MessageAppended(MessageAppended::new(role, parts)));
    }

    fn end_turn(&mut self) -> Result<(), ParseError> {
        let (parts, calls) = split_turn(std::mem::take(&mut self.turn))?;
        self.push_message(Role::Assistant, parts);
        self.facts.extend(calls.into_iter().map(called).map(Fact::ToolCalled));
        Ok(())
    }
}

fn called(call: ParsedCall) -> ToolCalled {
    ToolCalled::new(call.call_id, call.tool_name, call.input)
}

#[cfg(test)]
mod tests {
    use crate::openai_responses::own_item::own_part;
    use crate::tests::openai_responses::{Case, turns};

    use super::*;

    /// A history with every kind of item, as `render` writes it.
    const TELLING: &str = r#"{"instructions":"Be brief.\n\nBe kind.","input":[
{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","file_id":"f","detail":"high"},{"type":"input_file","filename":"b.txt","file_data":"data:text/plain,x"}]},
{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e1"},
{"type":"message","role":"assistant","phase":"commentary","content":"Looking."},
{"type":"function_call","call_id":"a","name":"search","arguments":"{\"q\": 1.0}"},
{"type":"function_call","call_id":"b","name":"fetch","arguments":"[]"},
{"type":"function_call_output","call_id":"a","output":"{\"n\":1e400}"},
{"type":"function_call_output","call_id":"b","output":[{"type":"input_text","text":"1"}]},
{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"e2"},
{"type":"function_call","call_id":"c","name":"search","arguments":"{}"},
{"type":"reasoning","id":"rs_3","summary":[],"encrypted_content":"e3"},
{"type":"function_call","call_id":"d","name":"search","arguments":"{}"},
{"type":"function_call_output","call_id":"c","output":"plain"},
{"type":"function_call_output","call_id":"d","output":""},
{"type":"web_search_call","id":"ws_1","status":"completed"},
{"type":"message","role":"assistant","phase":"final_answer","content":[{"type":"output_text","text":"b","annotations":[]},{"type":"refusal","refusal":"No."}]},
{"type":"message","role":"assistant","content":"And more."},
{"type":"message","role":"system","content":"In French."},
{"type":"message","role":"user","content":"c"}]}"#;

    #[test]
    fn a_parsed_history_is_rendered_unchanged() {
        let compact = TELLING.replace('\n', "");
        let facts = parse_history(compact.as_bytes()).unwrap();
        let rendered = Case::of(turns(facts)).rendered();
        assert_eq!(String::from_utf8(rendered.body).unwrap(), compact);
        assert_eq!(rendered.losses, []);
    }

    #[test]
    fn any_valid_history_is_parsed() {
        check(r#"{"input":"Hi"}"#, &["user: Hi"]);
        check(r#"{"input":[{"role":"user","content":"Hi"}]}"#, &["user: Hi"]);
        check(
            r#"{"input":[{"role":"user","content":[{"type":"input_audio","x":1}]}]}"#,
            &[r#"user: {"type":"input_audio","x":1}"#],
        );
        check(
            r#"{"input":[{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{bad"},{"type":"item_reference","id":"msg_1"}]}"#,
            &[
                r#"assistant: {"type":"function_call","index":0} {"type":"item_reference","id":"msg_1"}"#,
                r#"call a f "{bad""#,
            ],
        );
        check(
            r#"{"input":[{"type":"function_call","call_id":"a","name":"f","arguments":""},{"type":"function_call_output","call_id":"a","output":"x"}]}"#,
            &["call a f {}", "result a f"],
        );
        check(r#"{"instructions":null}"#, &[]);
    }

    #[test]
    fn errors_have_no_contents() {
        let long = "x".repeat(257);
        check_error(r#"{"input":["secret"]}"#, "unexpected structure at line 1, column 8 of input[0]");
        check_error(r#"{"input":[{"role":"secret","content":""}]}"#, "input[0].role");
        let call = r#"{"type":"function_call","call_id":"LONG","name":"f","arguments":""}"#.replace("LONG", &long);
        check_error(&format!(r#"{{"input":[{call}]}}"#), "input[0].call_id");
        check_error("secret", "invalid JSON at line 1, column 1");
    }

    fn check_error(body: &str, expected: &str) {
        let error = parse_history(body.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }

    fn check(body: &str, expected: &[&str]) {
        let facts = parse_history(body.as_bytes()).unwrap();
        let written: Vec<String> = facts.iter().map(written).collect();
        assert_eq!(written, expected);
    }

    fn written(fact: &Fact) -> String {
        if let Fact::MessageAppended(message) = fact {
            let parts: Vec<&str> = message.parts.iter().map(part).collect();
            return format!("{}: {}", message.role.as_str(), parts.join(" "));
        }
        if let Fact::ToolCalled(called) = fact {
            let (id, name) = (&called.call_id, &called.tool_name);
            return format!("call {id} {name} {}", called.input.as_str());
        }
        let Fact::ToolReturned(returned) = fact else {
            panic!("{fact:?}");
        };
        let name = returned.tool_name.as_ref().map_or("", ToolName::as_str);
        format!("result {} {name}", returned.call_id)
    }

    fn part(part: &Part) -> &str {
        if let Part::Text(text) = part {
            return text;
        }
        own_part(part).unwrap().as_str()
    }
}
