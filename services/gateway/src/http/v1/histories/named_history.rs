//! The history that a URL names.

use domain::event::MessageAppended;
use domain::{Violation, ViolationReason};
use keyed_history::bounds::KEY_CHARS_MAX;
use keyed_history::{HistoryKey, Namespace, RefusedReason};
use registry::Scope;
use runtime::http::HttpProblem;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::v1::new_events::new_message::NewMessageBody;
use conversations::keyed_histories::{HistoryLocation, Warning, parse_messages};
use conversations::metrics;
use http_listener::callers::service::Service;
use http_listener::state::HttpState;
use runtime::http::field_names::with_member_names;

/// Which history of the key.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct NamespaceQuery {
    /// Separates histories of one agent with the same key: 1 to 64 of `A-Z a-z 0-9 _ -`; absent: `default`.
    namespace: Option<String>,
}

/// A history by its key, after authorization.
#[derive(Debug)]
pub(super) struct NamedHistory {
    pub(super) key: HistoryKey,
    /// The location of the history, or why it is unknown.
    location: Result<HistoryLocation, Warning>,
}

impl NamedHistory {
    /// # Errors
    /// 400: key, namespace or agent breaks a rule; 403 without one of the scopes; 404 for a missing agent and for a foreign one.
    pub(super) async fn find(
        state: &HttpState,
        service: &Service,
        scopes: &[Scope],
        key: &str,
        query: &NamespaceQuery,
    ) -> Result<Self, HttpProblem> {
        let key = HistoryKey::parse(key).map_err(refused)?;
        let namespace = Namespace::parse(query.namespace.as_deref().unwrap_or_default())
            .map_err(|violation| violation.within("namespace"))?;
        let access = service.access(state, Scope::Read, None).await?;
        for scope in scopes {
            service.access(state, *scope, None).await?;
        }
        let deadline = service.call.deadline;
        let location = HistoryLocation::of(&state.gateway, access, &namespace, &key, deadline);
        Ok(Self { key, location })
    }

    /// The location of the history, or why it is unknown.
    pub(super) fn location(&self) -> Result<&HistoryLocation, Warning> {
        self.location.as_ref().map_err(|warning| *warning)
    }

    /// The conversation and its channel.
    pub(super) fn ids(&self) -> (Option<String>, Option<String>) {
        let location = self.location.as_ref().ok();
        let conversation = location.map(|location| location.conversation_id().to_owned());
        let channel = location.map(|location| location.channel.as_str().to_owned());
        (conversation, channel)
    }
}

/// The messages of a body.
///
/// # Errors
/// 400: there are too many, or one cannot be recorded.
pub(super) fn current_messages(messages: Vec<NewMessageBody>) -> Result<Vec<MessageAppended>, HttpProblem> {
    let messages: Result<Vec<_>, Violation> = messages
        .into_iter()
        .enumerate()
        .map(|(index, message)| message.into_proto().map_err(|violation| violation.at(index).within("messages")))
        .collect();
    Ok(messages.and_then(parse_messages).map_err(with_member_names)?)
}

/// The problem of a key that breaks a rule.
fn refused(reason: RefusedReason) -> HttpProblem {
    metrics::history_key_refused(reason.as_str());
    let (reason, rule) = match reason {
        RefusedReason::Empty => (ViolationReason::Missing, "is empty".to_owned()),
        RefusedReason::TooLong => {
            let rule = format!("has more than {KEY_CHARS_MAX} characters");
            (ViolationReason::TooLong, rule)
        }
        RefusedReason::Unresolved | RefusedReason::BadCharacters => {
            let rule = "has other characters than letters, digits and _ . : @ / + = -";
            (ViolationReason::Malformed, rule.to_owned())
        }
    };
    HttpProblem::from(Violation::new(reason, rule).within("key"))
}
