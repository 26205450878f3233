//! The tools of a request, as every provider takes their names.

use formats::Names;
use serde_json::value::RawValue;

use crate::error::ModelError;
use crate::request::Tool;

/// A tool as it is written.
#[derive(Debug)]
pub(crate) struct Declared<'a> {
    pub(crate) name: String,
    pub(crate) description: &'a str,
    pub(crate) input_schema: &'a RawValue,
}

/// Declares the tools; names that are written otherwise join those that lead back.
pub(crate) fn declare<'a>(
    tools: &'a [Tool],
    names: &mut Names,
) -> Result<Vec<Declared<'a>>, ModelError> {
    let declared = |tool: &'a Tool| {
        let schema = serde_json::from_str(tool.input_schema.as_str());
        Ok(Declared {
            name: names.tool_name(&tool.name),
            description: &tool.description,
            input_schema: schema.map_err(|_| ModelError::Unusable {
                problem: "offers a tool whose input schema is no JSON",
            })?,
        })
    };
    tools.iter().map(declared).collect()
}
