//! The tools of a request, with names that every provider accepts.

use formats::Names;
use serde_json::value::RawValue;

use crate::error::ModelError;
use crate::request::Tool;

/// A tool as written in a request.
#[derive(Debug)]
pub(crate) struct ToolDeclaration<'a> {
    pub(crate) name: String,
    pub(crate) description: &'a str,
    pub(crate) input_schema: &'a RawValue,
}

/// Declares the tools. `names` maps names that were changed back to the recorded ones.
pub(crate) fn declare<'a>(
    tools: &'a [Tool],
    names: &mut Names,
) -> Result<Vec<ToolDeclaration<'a>>, ModelError> {
    let declaration = |tool: &'a Tool| {
        let schema = serde_json::from_str(tool.input_schema.as_str());
        Ok(ToolDeclaration {
            name: names.tool_name(&tool.name),
            description: &tool.description,
            input_schema: schema.map_err(|_| ModelError::Unusable {
                problem: "has a tool whose input schema is not JSON",
            })?,
        })
    };
    tools.iter().map(declaration).collect()
}
