//! Which call a result of a history answers.

use domain::{CallId, ToolName};

use super::reading;
use crate::reply::ParseError;

/// What ids are made from for a history's calls that have none.
const SEED: &str = "history";

/// The calls of a history that have no result yet, oldest first.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls {
    open: Vec<(CallId, ToolName)>,
    seen: usize,
}

impl OpenCalls {
    /// The id of the next call: its own, or one made from its place where it has none.
    pub(crate) fn begin(
        &mut self,
        field: &str,
        id: &str,
        name: &ToolName,
    ) -> Result<CallId, ParseError> {
        let id = if id.is_empty() {
            reading::call_id(field, &reading::made_call_id(SEED, self.seen))?
        } else {
            reading::call_id(field, id)?
        };
        self.seen += 1;
        self.open.push((id.clone(), name.clone()));
        Ok(id)
    }

    /// The call that a result answers: that of its id; without an id the oldest open one of its tool, else the oldest.
    pub(crate) fn answer(
        &mut self,
        field: &str,
        id: &str,
        name: &str,
    ) -> Result<(CallId, Option<ToolName>), ParseError> {
        let place = if id.is_empty() {
            let of_tool = self.open.iter().position(|(_, tool)| tool.as_str() == name);
            of_tool.unwrap_or_default()
        } else {
            let of_id = self.open.iter().position(|(open, _)| open.as_str() == id);
            let Some(place) = of_id else {
                return Ok((reading::call_id(field, id)?, None));
            };
            place
        };
        if place >= self.open.len() {
            return Err(ParseError::Unusable {
                field: field.to_owned(),
                reason: "answers no call of the history".to_owned(),
            });
        }
        let (id, name) = self.open.remove(place);
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
        let told = answered.map(|(id, name)| match name {
            Some(name) => format!("{id} {name}"),
            None => format!("{id} -"),
        });
        assert_eq!(told.as_deref().map_err(drop), expected.map_err(drop));
    }

    #[test]
    fn a_result_without_id_needs_a_call() {
        assert!(OpenCalls::default().answer("id", "", "f").is_err());
    }
}
