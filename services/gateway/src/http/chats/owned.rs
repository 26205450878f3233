//! A conversation of the caller's own.

use axum::http::StatusCode;
use domain::{Conversation, ConversationId, ConversationKey};
use runtime::http::HttpProblem;
use wire::proto::write::v1 as write;
use wire::status::{Problem, Reason};

use crate::http::frontend::{Frontend, Named};
use crate::http::problem;
use crate::http::state::HttpState;
use crate::identity::Caller;
use crate::patience::Patience;
use crate::present::present;
use crate::request::{Freshness, Target};

/// A conversation of the caller's, as it stands now.
#[derive(Debug)]
pub struct Owned {
    /// How to read it.
    pub target: Target,
    /// What it is.
    pub conversation: Conversation,
}

impl Owned {
    /// Where a command goes; `key`: the caller's idempotency key, or empty.
    #[must_use]
    pub fn command_target(&self, key: String) -> write::CommandTarget {
        write::CommandTarget {
            agent_id: self.target.access.agent.as_str().to_owned(),
            conversation_id: self.target.key.conversation.as_str().to_owned(),
            idempotency_key: key,
            expected_version: None,
        }
    }
}

/// The conversation with this id, read fresh.
///
/// # Errors
/// [`not_found`] alike where there is none, where it is another tenant's, agent's or owner's, where it was erased, and
/// where the id is none; else what keeps it from being read.
pub async fn owned(state: &HttpState, caller: &Caller, id: &str) -> Result<Owned, HttpProblem> {
    let conversation = ConversationId::parse(id).map_err(|_| not_found())?;
    let target = Target {
        key: ConversationKey {
            tenant: caller.access.tenant.tenant().clone(),
            conversation,
        },
        access: caller.access.clone(),
        freshness: Freshness::Fresh,
        fence: None,
        patience: Patience::until(None),
    };
    let present = present(&state.gateway, &target).await;
    let (conversation, _) = present.map_err(of_read)?;
    if conversation.head.owner.as_ref() != Some(&caller.owner) {
        return Err(not_found());
    }
    Ok(Owned {
        target,
        conversation,
    })
}

/// The conversation with this id of whoever headers and query name.
///
/// # Errors
/// As [`Frontend::caller`] and [`owned`].
pub async fn asked(state: &HttpState, frontend: &Frontend, id: &str) -> Result<Owned, HttpProblem> {
    let caller = frontend.caller(state, Named::default()).await?;
    owned(state, &caller, id).await
}

/// What a read of a conversation fails with; one that is not there is told as [`not_found`].
#[must_use]
pub fn of_read(error: Problem) -> HttpProblem {
    if error.reason() == Reason::ConversationNotFound {
        return not_found();
    }
    problem::of(error)
}

/// There is no such conversation for this caller; nothing tells why.
#[must_use]
pub fn not_found() -> HttpProblem {
    let detail = "no such conversation for this caller: check its id, and whose it is";
    let code = Reason::ConversationNotFound.as_str();
    HttpProblem::new(StatusCode::NOT_FOUND, code, detail)
}
