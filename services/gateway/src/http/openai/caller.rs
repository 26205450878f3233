//! The caller of an OpenAI API: a back end with a secret key, for one of its end users.

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use domain::{AgentId, Owner, UserId};
use event_log::registry::{AgentAccess, Scope};
use history::Target;
use runtime::http::HttpProblem;
use utoipa::IntoParams;
use wire::conversation::owner_to_proto;
use wire::proto::event::v1 as event;
use wire::proto::write::v1 as write;
use wire::status::Reason;

use super::conversation_ids::record_id;
use crate::http::callers::headers::header_text;
use crate::http::callers::service::Service;
use crate::http::owned_chat::not_found;
use crate::http::problem;
use crate::http::state::HttpState;
use crate::quotas::account::RequestSource;

/// The header that names the end user.
pub const USER_HEADER: &str = "x-hansard-user";
/// The header in which Open WebUI forwards its user; read if [`USER_HEADER`] is absent.
const OPEN_WEBUI_USER_HEADER: &str = "x-openwebui-user-id";

/// The headers of every OpenAI API.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
pub struct OpenAiHeaders {
    /// The end user, who owns conversations that the request creates; 1 to 256 bytes. With it, conversations of other owners are
    /// not found. Alternatives: `X-OpenWebUI-User-Id`; `user` or `safety_identifier` in bodies that have them.
    #[param(rename = "x-hansard-user")]
    pub user: Option<String>,
    /// The agent, for requests without a `model`. Not needed with a key of one agent.
    #[param(rename = "x-agent-id")]
    pub agent: Option<String>,
}

/// A back end with a valid secret key. Pages cannot be one: a request with an origin is rejected.
#[derive(Debug, Clone)]
pub struct OpenAiCaller {
    /// The key, and the deadline.
    pub service: Service,
    /// The end user that the header names.
    user: Option<UserId>,
}

impl FromRequestParts<HttpState> for OpenAiCaller {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Self::Rejection> {
        let service = Service::from_request_parts(parts, state).await?;
        for header in [USER_HEADER, OPEN_WEBUI_USER_HEADER] {
            if let Some(user) = header_text(&parts.headers, header)? {
                let user = Some(parse_user(user, header)?);
                return Ok(Self { service, user });
            }
        }
        Ok(Self { service, user: None })
    }
}

impl OpenAiCaller {
    /// Permission to act for an agent: the one that `model` names, or the only one of the key.
    ///
    /// # Errors
    /// 400 if no agent is named and the key is not bound to exactly one; 403 without the scope; 404 for a missing agent, and for
    /// one that the key may not act for.
    pub async fn access(
        &self,
        state: &HttpState,
        scope: Scope,
        model: Option<&str>,
    ) -> Result<AgentAccess, HttpProblem> {
        if model.is_some_and(|model| AgentId::parse(model).is_err()) {
            return Err(model_not_found());
        }
        let access = self.service.access(state, scope, model).await;
        access.map_err(|problem| {
            if model.is_some() && problem.code == Reason::AgentNotFound.as_str() {
                return model_not_found();
            }
            problem
        })
    }

    /// The end user: of the header, or else of the body; `field` is the body's name of the user.
    ///
    /// # Errors
    /// 400 if the body's name is not 1 to 256 bytes without control characters.
    pub fn user(&self, field: &str, in_body: Option<String>) -> Result<Option<UserId>, HttpProblem> {
        match (&self.user, in_body) {
            (Some(user), _) => Ok(Some(user.clone())),
            (None, Some(user)) => parse_user(user, field).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// The owner that a conversation must have, if the header names an end user.
    #[must_use]
    pub fn expected_owner(&self) -> Option<event::Owner> {
        let user = self.user.clone();
        user.map(|user| owner_to_proto(&Owner::User(user)))
    }

    /// Checks the owner of a conversation: if the header names an end user, it is that user.
    ///
    /// # Errors
    /// 404, as for a missing conversation.
    pub fn check_owner(&self, owner: Option<&Owner>) -> Result<(), HttpProblem> {
        let is_owner = |user: &UserId| matches!(owner, Some(Owner::User(owner)) if owner == user);
        if self.user.as_ref().is_none_or(is_owner) {
            return Ok(());
        }
        Err(not_found())
    }

    /// How to read a conversation by its id in the API. The caller checks the owner with [`OpenAiCaller::check_owner`].
    ///
    /// # Errors
    /// As [`Service::target`].
    pub async fn target(&self, state: &HttpState, id: &str) -> Result<Target, HttpProblem> {
        self.service.target(state, record_id(id)?.as_str()).await
    }

    /// The target of a command by the conversation's id in the API; `key`: the idempotency key, or empty.
    ///
    /// # Errors
    /// As [`Service::command_target`].
    pub async fn command_target(
        &self,
        state: &HttpState,
        id: &str,
        key: String,
    ) -> Result<write::CommandTarget, HttpProblem> {
        let id = record_id(id)?;
        self.service.command_target(state, id.as_str(), key).await
    }

    /// What usage is counted for: the key. The address is the back end's, so it is not counted.
    #[must_use]
    pub fn source(&self) -> RequestSource {
        RequestSource { api_key_id: Some(self.service.token_id().to_owned()), address: None }
    }
}

fn parse_user(user: String, field: &str) -> Result<UserId, HttpProblem> {
    UserId::parse(user).map_err(|violation| problem::from_violation(violation.within(field)))
}

/// The request names no agent that the key may act for.
pub(super) fn model_not_found() -> HttpProblem {
    let detail = "model names no agent that this key may act for: GET /openai/v1/models lists them";
    let code = Reason::AgentNotFound.as_str();
    HttpProblem::new(StatusCode::NOT_FOUND, code, detail).in_field("model")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::callers::service::tests::service;

    fn caller(user: Option<&str>) -> OpenAiCaller {
        OpenAiCaller { service: service(&[], None), user: user.map(|user| UserId::parse(user).unwrap()) }
    }

    /// Usage and quotas of the keys of back ends depend on it.
    #[test]
    fn usage_is_counted_for_the_key() {
        let source = RequestSource { api_key_id: Some("token-7".to_owned()), address: None };
        assert_eq!(caller(None).source(), source);
    }

    #[test]
    fn the_header_names_the_user_before_the_body() {
        let check = |header: Option<&str>, body: Option<&str>, expected: Option<&str>| {
            let user = caller(header).user("user", body.map(str::to_owned)).unwrap();
            assert_eq!(user.as_ref().map(UserId::as_str), expected, "{header:?} {body:?}");
        };
        check(None, None, None);
        check(None, Some("b"), Some("b"));
        check(Some("a"), None, Some("a"));
        check(Some("a"), Some("b"), Some("a"));
        assert!(caller(None).user("user", Some(String::new())).is_err());
    }

    #[test]
    fn a_named_user_finds_only_its_conversations() {
        let [a, b] = ["a", "b"].map(|user| Owner::User(UserId::parse(user).unwrap()));
        let check = |user: Option<&str>, owner: Option<&Owner>, expected: bool| {
            assert_eq!(caller(user).check_owner(owner).is_ok(), expected, "{user:?} {owner:?}");
        };
        for owner in [None, Some(&a), Some(&b)] {
            check(None, owner, true);
        }
        check(Some("a"), Some(&a), true);
        check(Some("a"), Some(&b), false);
        check(Some("a"), None, false);
        assert_eq!(caller(None).expected_owner(), None);
        assert_eq!(caller(Some("a")).expected_owner(), Some(owner_to_proto(&a)));
    }
}
