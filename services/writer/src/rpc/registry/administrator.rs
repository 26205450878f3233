//! Callers that may change agents, API keys and signing keys: operators, and administrators of the dashboard.
//!
//! The session token of an administrator or operator of the dashboard counts as a token with the scope `operate` that is bound to
//! the session's tenant, if a writer endorsed the person. Only the rpcs that call [`administrator`] accept it: a session creates no
//! service tokens and no links.
//! Each change is recorded in the audit log before it is made.

use identity::DashboardUse;
use registry::{AgentAccess, PersonAccess, Principal, Scope};
use tonic::Request;
use wire::audit::AuditActor;
use wire::proto::operate::v1::DashboardAction;
use wire::status::Problem;

use crate::audit::{self, Batch, Entry, EntryKey};
use crate::request::Caller;
use crate::{Writer, endorsement, problem};

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
        let batch = Batch::of_person(person, DashboardAction::Changed, None, what)?;
        audit::append(writer, batch).await.map(drop)
    }

    /// Records a change of an agent in the audit log, also by a service token. Retries with the same key have one entry.
    /// Errors: the key was used for another change, or the entry cannot be appended.
    pub(super) async fn record_once(
        &self,
        writer: &Writer,
        access: &AgentAccess,
        what: String,
        key: EntryKey,
    ) -> Result<(), Problem> {
        let token = AuditActor::ServiceToken;
        let by_token = || (token, access.actor.0.clone(), token.as_str());
        let by_person =
            |by: &PersonAccess| (AuditActor::Person, by.person.subject().clone(), by.person.role().as_str());
        let (actor_kind, name, role) = self.person.as_ref().map_or_else(by_token, by_person);
        let action = DashboardAction::Changed;
        let entry = Entry { actor_kind, name, role, action, conversation: None, detail: what };
        let batch = Batch::with_key(access.tenant.clone(), access.actor.clone(), &[entry], key)?;
        audit::append(writer, batch).await.map(drop)
    }
}
