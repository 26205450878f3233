//! Reads the stored bytes of a tenant, an agent or an owner.
//!
//! The projection stores a sum for each agent and partition. The conversations of an owner are summed at the read.

use std::sync::LazyLock;

use domain::{AgentId, Owner, TenantAccess};
use sqlx::Row as _;

use super::statements::by_owner;
use crate::arguments::{arguments, signed, unsigned};
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// Maximum number of conversations of an owner that one read sums; the rest is not counted.
pub const OWNER_CONVERSATIONS_SUMMED_MAX: u64 = 100_000;
/// Maximum number of empty conversations that a count of a tenant or an agent leaves out; the rest is counted.
const EMPTY_CONVERSATIONS_MAX: u64 = 100_000;

static STORAGE_OF_OWNER: LazyLock<[String; 3]> = LazyLock::new(|| by_owner(include_str!("storage_of_owner.sql")));

/// What storage is summed for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorageScope {
    /// The tenant.
    Tenant,
    /// An agent.
    Agent(AgentId),
    /// The conversations of one owner with an agent.
    Owner(AgentId, Owner),
}

/// Conversations that are not erased. Empty ones of sessions, which have nothing but their creation, do not count as conversations: retention
/// erases them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Storage {
    /// Number of conversations.
    pub conversations: u64,
    /// Stored bytes, by [`domain::stored_bytes`].
    pub bytes: u64,
}

/// The storage according to the rows. At most [`OWNER_CONVERSATIONS_SUMMED_MAX`] conversations of an owner are counted.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn storage(model: &ReadModel, access: &TenantAccess, by: &StorageScope) -> Result<Storage, ReadModelError> {
    let tenant = access.tenant().as_str();
    let empty_max = signed(EMPTY_CONVERSATIONS_MAX);
    let arguments = || match by {
        StorageScope::Tenant => arguments![tenant, empty_max],
        StorageScope::Agent(agent) => arguments![tenant, agent.as_str(), empty_max],
        StorageScope::Owner(agent, owner) => {
            let limit = signed(OWNER_CONVERSATIONS_SUMMED_MAX);
            arguments![tenant, agent.as_str(), id_of(owner), limit]
        }
    };
    let sql = match by {
        StorageScope::Tenant => include_str!("storage_of_tenant.sql"),
        StorageScope::Agent(_) => include_str!("storage_of_agent.sql"),
        StorageScope::Owner(_, owner) => statement_of(owner),
    };
    let rows = model.read(access, sql, arguments).await?;
    let Some(row) = rows.first() else {
        return Ok(Storage::default());
    };
    Ok(Storage { conversations: unsigned(row.try_get("conversations")?), bytes: unsigned(row.try_get("bytes")?) })
}

/// The statement of the owner's kind.
fn statement_of(owner: &Owner) -> &'static str {
    let [of_session, of_user, of_channel] = &*STORAGE_OF_OWNER;
    match owner {
        Owner::Session(_) => of_session,
        Owner::User(_) => of_user,
        Owner::Channel(_) => of_channel,
    }
}

fn id_of(owner: &Owner) -> &str {
    match owner {
        Owner::Session(session) => session.as_str(),
        Owner::User(user) => user.as_str(),
        Owner::Channel(channel) => channel.as_str(),
    }
}
