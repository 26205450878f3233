//! Finds forks of conversations, direct and indirect.

use std::collections::HashSet;

use domain::bounds::FORK_DEPTH_MAX;
use domain::{ChannelId, ConversationId, Owner, SessionId, TenantAccess, UserId};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::arguments::arguments;
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// Maximum number of forks of one read.
pub const FORKS_PER_READ_MAX: u32 = 1_000;

/// A fork that is not erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkRow {
    /// The fork.
    pub id: ConversationId,
    /// The owner of the fork.
    pub owner: Owner,
    /// The conversation that it continues.
    pub parent: ConversationId,
    /// The distance to the conversation: 1 for a direct fork.
    pub depth: u32,
}

/// The direct and indirect forks of a conversation that are not erased, according to the rows, the nearest first. `limit` is
/// capped at [`FORKS_PER_READ_MAX`].
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn forks(
    model: &ReadModel,
    access: &TenantAccess,
    conversation: &ConversationId,
    limit: u32,
) -> Result<Vec<ForkRow>, ReadModelError> {
    let arguments = || {
        arguments![
            access.tenant().as_str(),
            conversation.as_str(),
            FORK_DEPTH_MAX.cast_signed(),
            i64::from(limit.min(FORKS_PER_READ_MAX)),
        ]
    };
    let rows = model.read(access, include_str!("forks.sql"), arguments).await?;
    let mut forks = rows.iter().map(|row| fork(access, row)).collect::<Result<Vec<_>, _>>()?;
    forks.sort_by(|one, other| (one.depth, &one.id).cmp(&(other.depth, &other.id)));
    Ok(forks)
}

/// The conversations among `conversations` that have a fork that is not erased, according to the rows.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn parents_of_forks(
    model: &ReadModel,
    access: &TenantAccess,
    conversations: &[&ConversationId],
) -> Result<HashSet<ConversationId>, ReadModelError> {
    let ids: Vec<&str> = conversations.iter().map(|id| id.as_str()).collect();
    let arguments = || arguments![access.tenant().as_str(), ids.as_slice()];
    let sql = include_str!("parents_of_forks.sql");
    let rows = model.read(access, sql, arguments).await?;
    let corrupt = |_| {
        let row = format!("{}/?", access.tenant());
        ReadModelError::corrupt("conversation", row, "forked_from")
    };
    let ids = rows.iter().map(|row| {
        let id: &str = row.try_get(0)?;
        ConversationId::parse(id).map_err(corrupt)
    });
    ids.collect()
}

fn fork(access: &TenantAccess, row: &PgRow) -> Result<ForkRow, ReadModelError> {
    let id: &str = row.try_get("conversation_id")?;
    let corrupt = |field: &str| ReadModelError::corrupt("conversation", format!("{}/{id}", access.tenant()), field);
    let depth: i32 = row.try_get("depth")?;
    let parent: &str = row.try_get("forked_from")?;
    Ok(ForkRow {
        id: ConversationId::parse(id).map_err(|_| corrupt("conversation_id"))?,
        owner: owner(row)?.ok_or_else(|| corrupt("user_id"))?,
        parent: ConversationId::parse(parent).map_err(|_| corrupt("forked_from"))?,
        depth: u32::try_from(depth).map_err(|_| corrupt("forked_from"))?,
    })
}

/// The owner; `None`: the columns contain no valid owner.
fn owner(row: &PgRow) -> Result<Option<Owner>, ReadModelError> {
    let (user, session): (Option<&str>, Option<&str>) = (row.try_get("user_id")?, row.try_get("session_id")?);
    let channel: Option<&str> = row.try_get("channel_id")?;
    let owner = match (user, session, channel) {
        (Some(user), None, None) => UserId::parse(user).map(Owner::User),
        (None, Some(session), None) => SessionId::parse(session).map(Owner::Session),
        (None, None, Some(channel)) => ChannelId::parse(channel).map(Owner::Channel),
        _ => return Ok(None),
    };
    Ok(owner.ok())
}
