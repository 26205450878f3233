//! What goes on from a conversation, near and far.

use domain::bounds::FORK_DEPTH_MAX;
use domain::{ChannelId, ConversationId, Owner, SessionId, TenantAccess, UserId};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};

use super::bind;
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// Most forks that one read finds.
pub const FORKS_PER_READ_MAX: u32 = 1_000;

/// A conversation that reads through another one, and is not erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkRow {
    /// The fork.
    pub id: ConversationId,
    /// Whose it is.
    pub owner: Owner,
    /// How many conversations it is away: 1 where it goes on from the one that was asked for.
    pub depth: u32,
}

/// The forks of one of the tenant's conversations, and the forks of those, as far as they are projected: those that are
/// not erased, at most `limit` and [`FORKS_PER_READ_MAX`], the nearest first.
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
        let arguments = bind(PgArguments::default(), access.tenant().as_str());
        let arguments = bind(arguments, conversation.as_str());
        let arguments = bind(arguments, FORK_DEPTH_MAX.cast_signed());
        bind(arguments, i64::from(limit.min(FORKS_PER_READ_MAX)))
    };
    let rows = model
        .read(access, include_str!("forks.sql"), arguments)
        .await?;
    let forks = rows.iter().map(|row| fork(access, row));
    let mut forks = forks.collect::<Result<Vec<_>, _>>()?;
    forks.sort_by(|one, other| (one.depth, &one.id).cmp(&(other.depth, &other.id)));
    Ok(forks)
}

fn fork(access: &TenantAccess, row: &PgRow) -> Result<ForkRow, ReadModelError> {
    let id: &str = row.try_get(0)?;
    let corrupt = |field: &str| ReadModelError::Corrupt {
        table: "conversation",
        row: format!("{}/{id}", access.tenant()),
        field: field.to_owned(),
    };
    let depth: i32 = row.try_get(4)?;
    Ok(ForkRow {
        id: ConversationId::parse(id).map_err(|_| corrupt("conversation_id"))?,
        owner: owner(row)?.ok_or_else(|| corrupt("user_id"))?,
        depth: u32::try_from(depth).map_err(|_| corrupt("forked_from"))?,
    })
}

/// The owner; `None`: the columns hold none, or one that is not an owner.
fn owner(row: &PgRow) -> Result<Option<Owner>, ReadModelError> {
    let (user, session): (Option<&str>, Option<&str>) = (row.try_get(1)?, row.try_get(2)?);
    let channel: Option<&str> = row.try_get(3)?;
    let owner = match (user, session, channel) {
        (Some(user), None, None) => UserId::parse(user).map(Owner::User),
        (None, Some(session), None) => SessionId::parse(session).map(Owner::Session),
        (None, None, Some(channel)) => ChannelId::parse(channel).map(Owner::Channel),
        _ => return Ok(None),
    };
    Ok(owner.ok())
}
