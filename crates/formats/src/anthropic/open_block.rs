//! A streamed block.

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::reply::{Delta, ParseError};

use super::errors::{malformed, read};
use super::object::Object;

/// The start of a block, and its additions.
#[derive(Debug)]
pub(super) struct OpenBlock {
    /// The JSON text of its start.
    start: String,
    /// The number of the call, if the block is a call.
    call: Option<usize>,
    text: String,
    thinking: String,
    signature: String,
    content: String,
    input: String,
    citations: Vec<String>,
}

/// An addition to a block. Anthropic sends one field at a time.
#[derive(Deserialize)]
pub(super) struct Addition<'a> {
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    /// The summary of a compacted conversation.
    content: Option<String>,
    partial_json: Option<String>,
    #[serde(borrow)]
    citation: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct BlockStart {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    name: Option<String>,
    text: Option<String>,
    thinking: Option<String>,
}

impl OpenBlock {
    /// Starts a block. Returns it with its first delta. `calls` is the number of calls before it.
    pub(super) fn begin(json: &str, calls: usize) -> Result<(Self, Option<Delta>), ParseError> {
        let start: BlockStart = read(json, "content_block")?;
        let is_call = start.kind == "tool_use";
        let delta = if is_call {
            Some(Delta::CallBegan {
                index: calls,
                call_id: start.id.unwrap_or_default(),
                tool_name: start.name.unwrap_or_default(),
            })
        } else if start.kind == "text" {
            shown(start.text, Delta::Text)
        } else {
            shown(start.thinking, Delta::Thinking)
        };
        let block = Self {
            start: json.to_owned(),
            call: is_call.then_some(calls),
            text: String::new(),
            thinking: String::new(),
            signature: String::new(),
            content: String::new(),
            input: String::new(),
            citations: Vec::new(),
        };
        Ok((block, delta))
    }

    pub(super) fn is_call(&self) -> bool {
        self.call.is_some()
    }

    /// Adds an addition. Returns its delta.
    pub(super) fn add(&mut self, addition: Addition<'_>) -> Option<Delta> {
        self.signature.push_str(&addition.signature.unwrap_or_default());
        self.content.push_str(&addition.content.unwrap_or_default());
        let citation = addition.citation.map(|citation| citation.get().to_owned());
        self.citations.extend(citation);
        if let Some(text) = addition.text {
            self.text.push_str(&text);
            return shown(Some(text), Delta::Text);
        }
        if let Some(thinking) = addition.thinking {
            self.thinking.push_str(&thinking);
            return shown(Some(thinking), Delta::Thinking);
        }
        let fragment = addition.partial_json?;
        self.input.push_str(&fragment);
        let index = self.call?;
        shown(Some(fragment), |fragment| Delta::CallInput { index, fragment })
    }

    /// The complete block, as in a whole reply.
    pub(super) fn close(self) -> Result<Box<RawValue>, ParseError> {
        let mut block = Object::parse(&self.start).ok_or_else(|| malformed("a content_block is not an object"))?;
        add_text(&mut block, "text", &self.text)?;
        add_text(&mut block, "thinking", &self.thinking)?;
        add_text(&mut block, "signature", &self.signature)?;
        add_text(&mut block, "content", &self.content)?;
        add_citations(&mut block, &self.citations)?;
        if !self.input.trim().is_empty() {
            let whole = RawValue::from_string(self.input.clone());
            block.set("input", whole.or_else(|_| raw(&self.input))?);
        }
        raw(&block)
    }
}

fn add_text(block: &mut Object<'_>, name: &str, added: &str) -> Result<(), ParseError> {
    if added.is_empty() {
        return Ok(());
    }
    let start: Option<String> = read(block.get(name).map_or("null", RawValue::get), name)?;
    block.set(name, raw(&format!("{}{added}", start.unwrap_or_default()))?);
    Ok(())
}

fn add_citations(block: &mut Object<'_>, added: &[String]) -> Result<(), ParseError> {
    if added.is_empty() {
        return Ok(());
    }
    let json = block.get("citations").map_or("null", RawValue::get);
    let start: Option<Vec<&RawValue>> = read(json, "citations")?;
    let start = start.unwrap_or_default();
    let mut list: Vec<&str> = start.iter().map(|citation| citation.get()).collect();
    list.extend(added.iter().map(String::as_str));
    let list = RawValue::from_string(format!("[{}]", list.join(",")));
    block.set("citations", list.map_err(|_| malformed("a citation is not JSON"))?);
    Ok(())
}

fn raw<T: Serialize>(value: &T) -> Result<Box<RawValue>, ParseError> {
    to_raw_value(value).map_err(|_| malformed("a block cannot be written"))
}

fn shown(text: Option<String>, delta: impl FnOnce(String) -> Delta) -> Option<Delta> {
    text.filter(|text| !text.is_empty()).map(delta)
}
