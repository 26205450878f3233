//! The caller of an OpenAI API: a back end with a secret key, for one of its end users.

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use domain::{AgentId, ConversationId};
use history::{Snapshot, Target};
use openai_api::conversation_ids::record_id;
use registry::{AgentAccess, Scope};
use runtime::http::HttpProblem;
use utoipa::IntoParams;
use wire::status::Reason;

use conversations::back_end_request::{BackEndRequest, Destination, Writable};
use conversations::end_user::{EndUser, IdOrigin};
use conversations::quotas::account::RequestSource;
use http_listener::callers::end_user::end_user;
use http_listener::callers::service::Service;
use http_listener::not_found::not_found;
use http_listener::state::HttpState;

/// The headers of every OpenAI API.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
pub struct OpenAiHeaders {
    /// The end user, who owns conversations that the request creates; 1 to 256 bytes. With it, conversations of other owners are
    /// not found. Without it, conversations of users and sessions are found only by ids that these APIs issued. Alternatives:
    /// `X-OpenWebUI-User-Id`; `user` or `safety_identifier` in bodies that have them.
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
    /// The end user, of the header or else of the body.
    pub end_user: EndUser,
}

impl FromRequestParts<HttpState> for OpenAiCaller {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Self::Rejection> {
        let service = Service::from_request_parts(parts, state).await?;
        Ok(Self { service, end_user: end_user(&parts.headers)? })
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
            if model.is_some() && problem.reason() == Some(Reason::AgentNotFound) {
                return model_not_found();
            }
            problem
        })
    }

    /// The caller of a request whose body can name the end user too.
    ///
    /// # Errors
    /// As [`EndUser::or_of_body`].
    pub fn with_body(self, user: Option<&str>, safety_identifier: Option<&str>) -> Result<Self, HttpProblem> {
        let fields = [("user", user), ("safety_identifier", safety_identifier)];
        Ok(Self { end_user: self.end_user.or_of_body(&fields)?, ..self })
    }

    /// The request, which acts for the end user.
    #[must_use]
    pub fn request<'a>(&'a self, state: &'a HttpState) -> BackEndRequest<'a> {
        BackEndRequest { conversations: state, back_end: &self.service, end_user: &self.end_user }
    }

    /// How to read a conversation by its id in the API.
    ///
    /// # Errors
    /// As [`BackEndRequest::target`].
    pub async fn target(&self, state: &HttpState, id: &str) -> Result<Target, HttpProblem> {
        Ok(self.request(state).target(parse_id(id)?).await?)
    }

    /// Opens a snapshot of a conversation that the request names by its id.
    ///
    /// # Errors
    /// As [`BackEndRequest::open`].
    pub async fn open<'a>(&'a self, state: &'a HttpState, target: &'a Target) -> Result<Snapshot<'a>, HttpProblem> {
        let origin = IdOrigin::of(&target.key.conversation);
        Ok(self.request(state).open(target, origin).await?)
    }

    /// A conversation to append to, by its id in the API.
    ///
    /// # Errors
    /// As [`BackEndRequest::destination`].
    pub async fn destination(&self, state: &HttpState, id: &str) -> Result<Destination, HttpProblem> {
        let id = parse_id(id)?;
        let origin = IdOrigin::of(&id);
        Ok(self.request(state).destination(id, origin).await?)
    }

    /// A conversation to change, by its id in the API.
    ///
    /// # Errors
    /// As [`BackEndRequest::writable`].
    pub async fn writable(&self, state: &HttpState, id: &str) -> Result<Writable, HttpProblem> {
        let id = parse_id(id)?;
        let origin = IdOrigin::of(&id);
        Ok(self.request(state).writable(id, origin).await?)
    }

    /// What usage is counted for: the key. The address is the back end's, so it is not counted.
    #[must_use]
    pub fn source(&self) -> RequestSource {
        RequestSource { api_key_id: Some(self.service.token_id().to_owned()), address: None }
    }
}

/// The record's id of a conversation with this id in the API.
///
/// # Errors
/// [`not_found`]: it is no id.
pub(super) fn parse_id(id: &str) -> Result<ConversationId, HttpProblem> {
    record_id(id).map_err(|_| not_found())
}

/// The request names no agent that the key may act for.
pub(super) fn model_not_found() -> HttpProblem {
    let detail = "model names no agent that this key may act for: GET /openai/v1/models lists them";
    let code = Reason::AgentNotFound.as_str();
    HttpProblem::new(StatusCode::NOT_FOUND, code, detail).in_field("model")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use domain::{Actor, Label, TenantId};
    use registry::Principal;

    use super::*;

    /// Usage and quotas of the keys of back ends depend on it.
    #[test]
    fn usage_is_counted_for_the_key() {
        let source = RequestSource { api_key_id: Some("token-7".to_owned()), address: None };
        let principal = Principal {
            token_id: Arc::from("token-7"),
            actor: Actor(Label::parse("back end").unwrap()),
            scopes: [Scope::Read].into_iter().collect(),
            tenant: Some(TenantId::parse("acme").unwrap()),
            agents: Arc::default(),
            expires_at: None,
        };
        let caller = OpenAiCaller { service: Service::new("secret", principal, None), end_user: EndUser::default() };
        assert_eq!(caller.source(), source);
    }
}
