//! The ancestors of a fork, as far as the rows know them.

use domain::bounds::FORK_DEPTH_MAX;
use domain::{ConversationId, TenantAccess};
use sqlx::postgres::PgArguments;

use super::bind;
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::row::{Columns, Standing};

/// A conversation and its ancestors, itself first, then its parent: at most [`FORK_DEPTH_MAX`]. Where the rows do not know
/// one of them, the list ends before it.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn lineage(
    model: &ReadModel,
    access: &TenantAccess,
    conversation: &ConversationId,
) -> Result<Vec<(ConversationId, Standing)>, ReadModelError> {
    let arguments = || {
        let arguments = bind(PgArguments::default(), access.tenant().as_str());
        let arguments = bind(arguments, conversation.as_str());
        bind(arguments, FORK_DEPTH_MAX.cast_signed())
    };
    let rows = model
        .read(access, include_str!("lineage.sql"), arguments)
        .await?;
    let standing = rows.iter().map(|row| {
        let columns = Columns::of(row, access.tenant(), conversation.as_str());
        let id: &str = columns.get(5, "conversation_id")?;
        let id = ConversationId::parse(id).map_err(|_| columns.corrupt("conversation_id"))?;
        Ok((id, columns.standing()?))
    });
    standing.collect()
}
