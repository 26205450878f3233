//! Finds documents that have expired and were not deleted yet.

use domain::{
    AgentId, ConversationId, DocumentName, DocumentNamespace, TenantAccess, Timestamp, Version,
};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::arguments::{arguments, unsigned};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::pg_timestamp::PgTimestamp;

/// Maximum number of documents of one read.
pub const EXPIRED_DOCUMENTS_PER_READ_MAX: u32 = 1_000;

/// A document that has expired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiredDocument {
    /// Its agent.
    pub agent: AgentId,
    /// Its conversation.
    pub conversation: ConversationId,
    /// Its name.
    pub name: DocumentName,
    /// The version of the conversation in its row. Commands must require it, because the record may be ahead of the rows.
    pub version: Version,
}

/// The documents of the tenant that expired before `now`, the oldest expiry first; at most
/// [`EXPIRED_DOCUMENTS_PER_READ_MAX`], each of another conversation.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn expired_documents(
    model: &ReadModel,
    access: &TenantAccess,
    now: Timestamp,
) -> Result<Vec<ExpiredDocument>, ReadModelError> {
    let arguments = || {
        arguments![
            access.tenant().as_str(),
            PgTimestamp::from_time(now),
            i64::from(EXPIRED_DOCUMENTS_PER_READ_MAX),
        ]
    };
    let rows = model.read(access, include_str!("expired.sql"), arguments);
    rows.await?.iter().map(|row| expired(access, row)).collect()
}

fn expired(access: &TenantAccess, row: &PgRow) -> Result<ExpiredDocument, ReadModelError> {
    let conversation: &str = row.try_get(1)?;
    let corrupt = |field: &str| {
        let key = format!("{}/{conversation}", access.tenant());
        ReadModelError::corrupt("document", key, field)
    };
    let namespace = DocumentNamespace::decode(row.try_get(2)?);
    Ok(ExpiredDocument {
        agent: AgentId::parse(row.try_get::<&str, _>(0)?).map_err(|_| corrupt("agent_id"))?,
        conversation: ConversationId::parse(conversation)
            .map_err(|_| corrupt("conversation_id"))?,
        name: DocumentName {
            namespace: namespace.ok_or_else(|| corrupt("namespace"))?,
            key: row.try_get(3)?,
        },
        version: Version(unsigned(row.try_get(4)?)),
    })
}
