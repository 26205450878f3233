//! What operators request for parked conversations at a gateway, which may not change rows itself. A projector carries it out.

use domain::{ConversationKey, Sequence};
use sqlx::Row as _;

use super::super::row_key::parse_key;
use crate::arguments::{arguments, signed, unsigned};
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// Maximum number of requests that are taken at once.
const TAKEN_MAX: i64 = 100;

/// A request for a parked conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedRequest {
    /// The conversation.
    pub key: ConversationKey,
    /// The waiting commit to drop; `None`: project the waiting commits again.
    pub dropped: Option<Sequence>,
}

/// Requests it. A later request for the same conversation replaces one that no projector has taken yet. Returns whether the
/// conversation is parked. Readers may call it.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn request(model: &ReadModel, request: &ParkedRequest) -> Result<bool, ReadModelError> {
    let dropped = request.dropped.map(|sequence| signed(sequence.0));
    let sql = "SELECT hansard.request_parked($1, $2, $3)";
    let (tenant, conversation) = (&request.key.tenant, &request.key.conversation);
    let arguments = || arguments![tenant.as_str(), conversation.as_str(), dropped];
    let rows = model.fetch(sql, arguments).await?;
    rows.first().map_or(Ok(false), |row| Ok(row.try_get(0)?))
}

/// Takes requests: no other process gets them.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn take_requests(model: &ReadModel) -> Result<Vec<ParkedRequest>, ReadModelError> {
    let sql = include_str!("take_requests.sql");
    let rows = model.fetch(sql, || arguments![TAKEN_MAX]).await?;
    let request = |row: &sqlx::postgres::PgRow| {
        let dropped: Option<i64> = row.try_get("dropped_sequence")?;
        Ok(ParkedRequest {
            key: parse_key(row.try_get("tenant_id")?, row.try_get("conversation_id")?)?,
            dropped: dropped.map(|sequence| Sequence(unsigned(sequence))),
        })
    };
    rows.iter().map(request).collect()
}
