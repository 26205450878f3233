//! Matches the results in a history to their calls.

use domain::event::ToolCalled;
use domain::{CallId, Fact, ToolName};

use super::call_drafts::IncomingCall;
use crate::reply::ParseError;
use crate::values;

/// The seed of generated ids for calls without one.
const SEED: &str = "history";

/// The calls of a history without a result, oldest first.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls {
    open: Vec<(CallId, ToolName)>,
    seen: usize,
}

impl OpenCalls {
    /// Adds the calls of a message, whose path is `field`. Returns them as facts of the provider.
    pub(crate) fn called<'a>(
        &mut self,
        field: &str,
        provider: &str,
        calls: impl Iterator<Item = IncomingCall<'a>>,
    ) -> Result<Vec<Fact>, ParseError> {
        let provider = values::label("provider", Some(provider))?;
        let mut facts = Vec::new();
        for (index, call) in calls.enumerate() {
            let field = format!("{field}.tool_calls[{index}]");
            let tool_name = values::tool_name(&format!("{field}.function.name"), call.name)?;
            let call_id = self.begin(&format!("{field}.id"), call.id, &tool_name)?;
            facts.push(Fact::ToolCalled(ToolCalled {
                provider: provider.clone(),
                ..ToolCalled::new(call_id, tool_name, values::input(&call.input))
            }));
        }
        Ok(facts)
    }

    /// Adds the next call. Returns its id, which is generated from its index if it has none.
    fn begin(&mut self, field: &str, id: &str, name: &ToolName) -> Result<CallId, ParseError> {
        let id = if id.is_empty() {
            values::call_id(field, &values::generated_call_id(SEED, self.seen))?
        } else {
            values::call_id(field, id)?
        };
        self.seen += 1;
        self.open.push((id.clone(), name.clone()));
        Ok(id)
    }

    /// The call of a result: the call with its id; without an id, the oldest open call of its tool, or the oldest open call.
    pub(crate) fn answer(
        &mut self,
        field: &str,
        id: &str,
        name: &str,
    ) -> Result<(CallId, Option<ToolName>), ParseError> {
        let mut open = self.open.iter();
        let index = if id.is_empty() {
            open.position(|(_, tool)| tool.as_str() == name).unwrap_or_default()
        } else {
            let Some(index) = open.position(|(open, _)| open.as_str() == id) else {
                return Ok((values::call_id(field, id)?, None));
            };
            index
        };
        if index >= self.open.len() {
            return Err(ParseError::Unusable {
                field: field.into(),
                reason: "has no open call in the history".to_owned(),
            });
        }
        let (id, name) = self.open.remove(index);
        Ok((id, Some(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_find_their_calls() {
        check("b", "", Ok("b g"));
        check("", "g", Ok("b g"));
        check("", "unknown", Ok("a f"));
        check("x", "", Ok("x -"));
    }

    fn check(id: &str, name: &str, expected: Result<&str, ()>) {
        let mut calls = OpenCalls::default();
        for (id, name) in [("a", "f"), ("b", "g")] {
            let name = ToolName::parse(name).unwrap();
            calls.begin("id", id, &name).unwrap();
        }
        let answered = calls.answer("id", id, name).map_err(drop);
        let answer = answered.map(|(id, name)| match name {
            Some(name) => format!("{id} {name}"),
            None => format!("{id} -"),
        });
        assert_eq!(answer.as_deref().map_err(drop), expected.map_err(drop));
    }

    #[test]
    fn a_result_without_id_needs_a_call() {
        assert!(OpenCalls::default().answer("id", "", "f").is_err());
    }
}
