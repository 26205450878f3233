//! Parses tool calls and their results.
//!
//! Arguments are text that a model wrote. If it is not JSON, it is stored as a JSON string, with a note in the event's metadata
//! and a remark in the report. A result that is not JSON is stored as text.

use domain::Violation;
use serde_json::value::RawValue;
use wire::proto::event::v1 as proto;
use wire::proto::event::v1::event::Fact;
use wire::proto::event::v1::tool_returned::Output;

use super::content;
use crate::import::fields::{Fields, is_json, joined, malformed, read};
use crate::import::text_part;

/// The metadata of a call whose input was not JSON.
const NOT_JSON: &str = r#"{"hansard_import":"input was not JSON and is kept as a JSON string"}"#;

/// A fact and the metadata of its event.
pub(super) struct NewFact {
    pub(super) fact: Fact,
    pub(super) metadata_json: String,
}

impl From<Fact> for NewFact {
    fn from(fact: Fact) -> Self {
        Self { fact, metadata_json: String::new() }
    }
}

/// Parses the calls of a message, in order; adds a remark for each input that is stored in another form.
pub(super) fn calls(fields: &mut Fields<'_>, remarks: &mut Vec<String>) -> Result<Vec<NewFact>, Violation> {
    let Some(calls) = fields.take("tool_calls") else {
        return Ok(Vec::new());
    };
    let calls: Vec<&RawValue> = read(calls.get())?;
    let mut facts = Vec::with_capacity(calls.len());
    for (index, call) in calls.into_iter().enumerate() {
        let fact = self::call(call.get()).map_err(|violation| violation.at(index))?;
        let metadata = &fact.metadata_json;
        if metadata.contains(NOT_JSON.trim_matches(['{', '}'])) {
            let what = "input is not JSON, kept as a JSON string";
            remarks.push(format!("tool_calls[{index}]: {what}"));
        }
        facts.push(fact);
    }
    Ok(facts)
}

fn call(text: &str) -> Result<NewFact, Violation> {
    let mut fields = Fields::parse(text)?;
    let call_id = fields.require_as("id")?;
    let kind = fields.take_text("type")?;
    let (tool_name, input) = match kind.as_str() {
        "" | "function" => named_input(&mut fields, "function", "arguments")?,
        "custom" => named_input(&mut fields, "custom", "input")?,
        _ => return Err(malformed("must be function or custom").within("type")),
    };
    // The input of a custom tool is text, so it is stored as a JSON string; the type distinguishes both cases.
    let custom = kind == "custom";
    let as_given = !custom && is_json(&input);
    let remark = match (custom, as_given) {
        (true, _) => r#"{"type":"custom"}"#,
        (false, true) => "",
        (false, false) => NOT_JSON,
    };
    let as_text = || serde_json::Value::from(input.as_str()).to_string();
    let call = proto::ToolCalled {
        call_id,
        tool_name,
        input_json: if as_given { input } else { as_text() },
        ..proto::ToolCalled::default()
    };
    Ok(NewFact { fact: Fact::ToolCalled(call), metadata_json: joined(remark, &fields.rest()) })
}

fn named_input(fields: &mut Fields<'_>, kind: &str, input: &str) -> Result<(String, String), Violation> {
    let value = fields.require(kind)?;
    let named =
        Fields::parse(value.get()).and_then(|mut inner| Ok((inner.require_as("name")?, inner.require_as(input)?)));
    named.map_err(|violation| violation.within(kind))
}

/// Parses the result in a tool's message.
pub(super) fn result(fields: &mut Fields<'_>) -> Result<proto::ToolReturned, Violation> {
    let call_id = fields.require_as("tool_call_id")?;
    let tool_name = fields.take_text("name")?;
    let content = fields.require("content")?;
    let output = output(content).map_err(|violation| violation.within("content"))?;
    Ok(proto::ToolReturned { call_id, tool_name, output: Some(output), outcome: 0 })
}

fn output(content: &RawValue) -> Result<Output, Violation> {
    if content.get().starts_with('"') {
        let text: String = read(content.get())?;
        if is_json(&text) {
            return Ok(Output::OutputJson(text));
        }
        let parts = vec![text_part(text)];
        return Ok(Output::OutputParts(proto::Parts { parts }));
    }
    content::parts(content).map(|parts| Output::OutputParts(proto::Parts { parts }))
}
