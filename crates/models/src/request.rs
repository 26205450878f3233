//! What a model is asked.

use domain::{JsonText, ToolName};
use formats::Names;

use crate::error::ModelError;
use crate::exchange::Listener;

/// Most bytes of a rendered body: what the strictest provider takes of a request.
pub const BODY_BYTES_MAX: usize = 32 * 1_024 * 1_024;
/// Most tools of a request: what the strictest provider takes.
pub const TOOLS_MAX: usize = 128;
/// Most bytes of a model's name.
const MODEL_BYTES_MAX: usize = 256;

/// What a model is asked.
#[derive(Debug, Clone, Default)]
pub struct ModelRequest {
    /// The model, as the server names it; 1 to 256 bytes.
    pub model: String,
    /// The part of the body that carries the context, as `formats` has rendered it in the server's format; sent byte for
    /// byte. At most [`BODY_BYTES_MAX`].
    pub body: Vec<u8>,
    /// The tools that the model may call; at most [`TOOLS_MAX`].
    pub tools: Vec<Tool>,
    /// Most tokens of the reply.
    pub max_output_tokens: Option<u32>,
    /// How freely the model chooses; the provider's own where there is none.
    pub temperature: Option<f64>,
    /// The ids and names that were written otherwise in the body, as they came with it: what the model says of them is
    /// written as the record has them.
    pub names: Names,
    /// Whose request it is: tenants wait in fair turns for a server that is at its bound. Empty: a tenant of its own.
    pub tenant: String,
    /// Who hears of each try.
    pub listener: Option<Listener>,
}

/// A tool that a model may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Its name, as the record has it.
    pub name: ToolName,
    /// What it does, for the model.
    pub description: String,
    /// What it takes: a JSON schema, an object.
    pub input_schema: JsonText,
}

impl ModelRequest {
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        let unusable = |problem| Err(ModelError::Unusable { problem });
        if !(1..=MODEL_BYTES_MAX).contains(&self.model.len()) {
            return unusable("names no model of 1 to 256 bytes");
        }
        if self.body.len() > BODY_BYTES_MAX {
            return unusable("has a body of more than 32 MiB");
        }
        if self.tools.len() > TOOLS_MAX {
            return unusable("offers more than 128 tools");
        }
        let is_object = |tool: &Tool| tool.input_schema.as_str().trim_start().starts_with('{');
        if !self.tools.iter().all(is_object) {
            return unusable("offers a tool whose input schema is no object");
        }
        if self.temperature.is_some_and(|t| !t.is_finite()) {
            return unusable("has a temperature that is no number");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: impl FnOnce(&mut ModelRequest), is_usable: bool) {
        let mut request = ModelRequest {
            model: "m".to_owned(),
            ..ModelRequest::default()
        };
        change(&mut request);
        assert_eq!(request.check().is_ok(), is_usable);
    }

    fn tool(schema: &str) -> Tool {
        Tool {
            name: ToolName::parse("t").unwrap(),
            description: String::new(),
            input_schema: JsonText::parse(schema).unwrap(),
        }
    }

    #[test]
    fn bounds_at_their_edges() {
        check(|_| (), true);
        check(|r| r.model.clear(), false);
        check(|r| r.model = "m".repeat(MODEL_BYTES_MAX), true);
        check(|r| r.model = "m".repeat(MODEL_BYTES_MAX + 1), false);
        check(|r| r.body = vec![b' '; BODY_BYTES_MAX], true);
        check(|r| r.body = vec![b' '; BODY_BYTES_MAX + 1], false);
        check(|r| r.tools = vec![tool("{}"); TOOLS_MAX], true);
        check(|r| r.tools = vec![tool("{}"); TOOLS_MAX + 1], false);
        check(|r| r.tools = vec![tool("[]")], false);
        check(|r| r.temperature = Some(f64::NAN), false);
    }
}
