//! One conversation, without its events.

use domain::{Conversation, ConversationId, TenantAccess};
use sqlx::postgres::PgArguments;

use super::bind;
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::row::Columns;

/// The conversation as its row has it; an erased one comes too, stripped. `None`: no row of the tenant.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn conversation(
    model: &ReadModel,
    access: &TenantAccess,
    id: &ConversationId,
) -> Result<Option<Conversation>, ReadModelError> {
    let arguments = || {
        let arguments = bind(PgArguments::default(), access.tenant().as_str());
        bind(arguments, id.as_str())
    };
    let rows = model
        .read(access, include_str!("conversation.sql"), arguments)
        .await?;
    let columns = rows
        .first()
        .map(|row| Columns::of(row, access.tenant(), id.as_str()));
    columns.map(Columns::conversation).transpose()
}
