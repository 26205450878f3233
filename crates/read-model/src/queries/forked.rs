//! Which conversations others go on from.

use std::collections::HashSet;

use domain::{ConversationId, TenantAccess};
use sqlx::Row as _;
use sqlx::postgres::PgArguments;

use super::bind;
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// Those of the tenant's conversations from which others were forked that are not erased, as far as they are projected.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn forked(
    model: &ReadModel,
    access: &TenantAccess,
    conversations: &[&ConversationId],
) -> Result<HashSet<ConversationId>, ReadModelError> {
    let ids: Vec<&str> = conversations.iter().map(|id| id.as_str()).collect();
    let arguments = || {
        let arguments = bind(PgArguments::default(), access.tenant().as_str());
        bind(arguments, ids.as_slice())
    };
    let rows = model
        .read(access, include_str!("forked.sql"), arguments)
        .await?;
    let ids = rows.iter().map(|row| {
        let id: &str = row.try_get(0)?;
        ConversationId::parse(id).map_err(|_| ReadModelError::Corrupt {
            table: "conversation",
            row: format!("{}/?", access.tenant()),
            field: "forked_from".to_owned(),
        })
    });
    ids.collect()
}
