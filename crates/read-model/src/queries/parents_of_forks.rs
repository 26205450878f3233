//! Finds conversations that have forks.

use std::collections::HashSet;

use domain::{ConversationId, TenantAccess};
use sqlx::Row as _;

use crate::arguments::arguments;
use crate::error::ReadModelError;
use crate::model::ReadModel;

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
    let ids = rows.iter().map(|row| {
        let id: &str = row.try_get(0)?;
        ConversationId::parse(id).map_err(|_| {
            ReadModelError::corrupt(
                "conversation",
                format!("{}/?", access.tenant()),
                "forked_from",
            )
        })
    });
    ids.collect()
}
