//! Requests to models.

use domain::JsonText;
use formats::{Names, RequestOptions, TOOLS_MAX, Tool};
use serde_json::value::RawValue;

use crate::error::ModelError;
use crate::exchange::ExchangeListener;

/// Maximum bytes of a rendered body: the limit of the strictest provider.
pub const BODY_BYTES_MAX: usize = 32 * 1_024 * 1_024;
const MODEL_BYTES_MAX: usize = 256;

/// A request to a model.
#[derive(Debug, Clone, Default)]
pub struct ModelRequest {
    /// The server's name of the model; 1 to 256 bytes.
    pub model: String,
    /// The context, rendered by `formats` in the server's format and sent byte for byte. At most [`BODY_BYTES_MAX`].
    pub body: Vec<u8>,
    /// Number of pictures and files in the body. They may have more tokens than bytes.
    pub media_parts: usize,
    /// The tools that the model may call; at most [`TOOLS_MAX`].
    pub tools: Vec<Tool>,
    /// The JSON schema that the reply should match; an object. `None`: any text.
    pub output_schema: Option<JsonText>,
    /// Maximum tokens of the reply.
    pub max_output_tokens: Option<u32>,
    /// The sampling temperature; `None`: the provider's default.
    pub temperature: Option<f64>,
    /// Options that only some kinds of servers have. Check them with `ModelServers::unsupported_option`: others are not sent.
    pub options: RequestOptions,
    /// The ids and names that the rendered body changed. The reply gets the recorded ones back.
    pub names: Names,
    /// The tenant. Tenants wait in fair turns for a server at its bound; requests without a tenant count as one tenant.
    pub tenant: String,
    /// The listener that gets each attempt.
    pub listener: Option<ExchangeListener>,
}

impl ModelRequest {
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        let unusable = |problem| Err(ModelError::Unusable { problem });
        if !(1..=MODEL_BYTES_MAX).contains(&self.model.len()) {
            return unusable("has a model name that is empty or longer than 256 bytes");
        }
        if self.body.len() > BODY_BYTES_MAX {
            return unusable("has a body of more than 32 MiB");
        }
        if self.tools.len() > TOOLS_MAX {
            return unusable("has more than 128 tools");
        }
        let is_object = |tool: &Tool| tool.input_schema.as_str().trim_start().starts_with('{');
        if !self.tools.iter().all(is_object) {
            return unusable("has a tool whose input schema is not an object");
        }
        if self.temperature.is_some_and(|t| !t.is_finite()) {
            return unusable("has a temperature that is not a number");
        }
        Ok(())
    }
}

/// The schema of the reply as written in a request.
pub(crate) fn output_schema(request: &ModelRequest) -> Result<Option<&RawValue>, ModelError> {
    let schema = request.output_schema.as_ref().map(|schema| serde_json::from_str(schema.as_str()));
    schema.transpose().map_err(|_| ModelError::Unusable { problem: "has an output schema that is not JSON" })
}

/// A tool as written in a request.
#[derive(Debug)]
pub(crate) struct ToolDeclaration<'a> {
    pub(crate) name: String,
    pub(crate) description: &'a str,
    pub(crate) input_schema: &'a RawValue,
    pub(crate) strict: bool,
}

/// Declares the tools. `names` maps names that were changed back to the recorded ones.
pub(crate) fn declare<'a>(tools: &'a [Tool], names: &mut Names) -> Result<Vec<ToolDeclaration<'a>>, ModelError> {
    let declaration = |tool: &'a Tool| {
        let schema = serde_json::from_str(tool.input_schema.as_str());
        Ok(ToolDeclaration {
            name: names.tool_name(&tool.name),
            description: &tool.description,
            strict: tool.strict,
            input_schema: schema
                .map_err(|_| ModelError::Unusable { problem: "has a tool whose input schema is not JSON" })?,
        })
    };
    tools.iter().map(declaration).collect()
}

#[cfg(test)]
mod tests {
    use domain::ToolName;

    use super::*;

    fn check(change: impl FnOnce(&mut ModelRequest), is_usable: bool) {
        let mut request = ModelRequest { model: "m".to_owned(), ..ModelRequest::default() };
        change(&mut request);
        assert_eq!(request.check().is_ok(), is_usable);
    }

    fn tool(schema: &str) -> Tool {
        Tool {
            name: ToolName::parse("t").unwrap(),
            description: String::new(),
            input_schema: JsonText::parse(schema).unwrap(),
            strict: false,
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
