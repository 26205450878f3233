//! The member `model` of a request: an agent, or an agent and another model of its server, as `agent/model`.

use registry::{AgentAccess, Scope};
use runtime::http::HttpProblem;

use super::caller::{OpenAiCaller, model_not_found};
use http_listener::state::HttpState;

/// What a request's `model` names.
#[derive(Debug, Clone)]
pub struct RequestedModel {
    /// The right to act for the agent.
    pub access: AgentAccess,
    /// The other model, for `RequestSettings`; `None`: the agent's own.
    pub other: Option<String>,
}

impl RequestedModel {
    /// The agent that `model` names, or the only one of the key, and the other model if one is named.
    ///
    /// # Errors
    /// As [`OpenAiCaller::access`]; 404 `AGENT_NOT_FOUND` for a model that the agent's settings do not list.
    pub async fn find(
        state: &HttpState,
        caller: &OpenAiCaller,
        scope: Scope,
        model: Option<&str>,
    ) -> Result<Self, HttpProblem> {
        let Some((agent, other)) = model.map(split) else {
            let access = caller.access(state, scope, None).await?;
            return Ok(Self { access, other: None });
        };
        let access = caller.access(state, scope, Some(agent)).await?;
        let other = other.map(str::to_owned);
        let listed = || state.agent_settings(&access.agent).other_models;
        if other.as_ref().is_some_and(|other| !listed().contains(other)) {
            return Err(model_not_found());
        }
        Ok(Self { access, other })
    }
}

/// The agent and the other model. Ids of agents have no slash, names of models may have some.
#[must_use]
pub fn split(model: &str) -> (&str, Option<&str>) {
    match model.split_once('/') {
        Some((agent, other)) => (agent, Some(other)),
        None => (model, None),
    }
}

/// The name of an agent's other model in these APIs.
#[must_use]
pub fn join(agent: &str, other: &str) -> String {
    format!("{agent}/{other}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_split_at_its_first_slash() {
        for (model, expected) in [
            ("support", ("support", None)),
            ("support/gpt", ("support", Some("gpt"))),
            ("support/meta/llama", ("support", Some("meta/llama"))),
            ("support/", ("support", Some(""))),
            ("/gpt", ("", Some("gpt"))),
        ] {
            assert_eq!(split(model), expected);
        }
        assert_eq!(split(&join("a", "b/c")), ("a", Some("b/c")));
    }
}
