//! What a tenant, an agent or an owner stores.
//!
//! Sums of tenants and agents are kept by the projection, a row for each agent and partition. An owner's conversations are
//! summed when they are read.

use domain::{AgentId, Owner, TenantAccess};
use sqlx::Row as _;
use sqlx::postgres::PgArguments;

use super::{bind, signed};
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// Most conversations of an owner that one read sums; what is beyond them is not counted.
pub const OWNER_CONVERSATIONS_SUMMED_MAX: u64 = 100_000;

/// Whose storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredBy {
    /// All of the tenant.
    Tenant,
    /// All of an agent.
    Agent(AgentId),
    /// One owner's conversations with an agent.
    Owner(AgentId, Owner),
}

/// What is stored and not erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Storage {
    /// Conversations.
    pub conversations: u64,
    /// Bytes, as [`domain::stored_bytes`] counts them.
    pub bytes: u64,
}

/// What the rows hold. Of an owner at most [`OWNER_CONVERSATIONS_SUMMED_MAX`] conversations are counted.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn storage(
    model: &ReadModel,
    access: &TenantAccess,
    by: &StoredBy,
) -> Result<Storage, ReadModelError> {
    let arguments = || {
        let arguments = bind(PgArguments::default(), access.tenant().as_str());
        match by {
            StoredBy::Tenant => arguments,
            StoredBy::Agent(agent) => bind(arguments, agent.as_str()),
            StoredBy::Owner(agent, owner) => {
                let arguments = bind(bind(arguments, agent.as_str()), owner_id(owner));
                bind(arguments, signed(OWNER_CONVERSATIONS_SUMMED_MAX))
            }
        }
    };
    let rows = model.read(access, statement(by), arguments).await?;
    let Some(row) = rows.first() else {
        return Ok(Storage::default());
    };
    let number = |number: i64| u64::try_from(number).unwrap_or(0);
    Ok(Storage {
        conversations: row.try_get(0).map(number)?,
        bytes: row.try_get(1).map(number)?,
    })
}

fn statement(by: &StoredBy) -> &'static str {
    match by {
        StoredBy::Tenant => include_str!("storage_of_tenant.sql"),
        StoredBy::Agent(_) => include_str!("storage_of_agent.sql"),
        StoredBy::Owner(_, Owner::User(_)) => include_str!("storage_of_user.sql"),
        StoredBy::Owner(_, Owner::Channel(_)) => include_str!("storage_of_channel.sql"),
        StoredBy::Owner(_, Owner::Session(_)) => include_str!("storage_of_session.sql"),
    }
}

fn owner_id(owner: &Owner) -> &str {
    match owner {
        Owner::User(user) => user.as_str(),
        Owner::Channel(channel) => channel.as_str(),
        Owner::Session(session) => session.as_str(),
    }
}
