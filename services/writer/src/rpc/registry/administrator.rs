//! Callers that may change agents, API keys and signing keys: operators, and administrators of the dashboard.
//!
//! The session token of an administrator or operator of the dashboard counts as a token with the scope `operate` that is bound to
//! the session's tenant, if a writer endorsed the person. Only the rpcs that call [`administrator`] accept it: a session creates no service tokens and no links.
//! Each change is recorded in the audit log before it is made.

use event_log::registry::{PersonAccess, Principal, Scope};
use identity::DashboardUse;
use tonic::Request;
use wire::proto::operate::v1::DashboardAction;
use wire::status::Problem;

use crate::request::Caller;
use crate::{Writer, audit, endorsement, problem};

/// A caller that may change agents, API keys and signing keys of its tenants.
#[derive(Debug)]
pub(super) struct Administrator {
    /// What it may access.
    pub(super) principal: Principal,
    /// The person of a session; `None`: it has a service token.
    person: Option<PersonAccess>,
}

/// The caller and the message of a request.
/// Errors: no valid service token and no session, the scope `operate` is missing, the role of the session is too low, or no writer endorsed
/// its person.
pub(super) async fn administrator<M>(writer: &Writer, request: Request<M>) -> Result<(Administrator, M), Problem> {
    let bearer = wire::bearer::from_metadata(request.metadata());
    let person = bearer.and_then(|token| {
        let registry = &writer.registry;
        registry.verify_dashboard_token(DashboardUse::Session, token, writer.now())
    });
    let principal = if let Some(person) = &person {
        person.principal()
    } else {
        let caller = Caller::from_metadata(request.metadata());
        caller.principal(writer).await?
    };
    principal.require(Scope::Operate).map_err(|error| problem::access_problem(&error, "agent_id"))?;
    if let Some(person) = &person {
        endorsement::require(writer, person).await?;
    }
    Ok((Administrator { principal, person }, request.into_inner()))
}

impl Administrator {
    /// Records in the audit log what the person of a session changes. Call it after the request was checked and before the change.
    /// `what` names the entry and the field, never a value; at most 4 KiB.
    /// Errors: the entry cannot be appended.
    pub(super) async fn record_change(&self, writer: &Writer, what: String) -> Result<(), Problem> {
        let Some(person) = &self.person else {
            return Ok(());
        };
        let batch = audit::Batch::of_person(person, DashboardAction::Changed, None, what)?;
        audit::append(writer, batch).await.map(drop)
    }
}
