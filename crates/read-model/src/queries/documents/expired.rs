//! Finds documents that have expired and were not deleted yet.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use domain::bounds::EVENTS_PER_COMMIT_MAX;
use domain::{AgentId, ConversationId, DocumentName, DocumentNamespace, TenantAccess, Timestamp, Version};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::arguments::{arguments, unsigned};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::pg_timestamp::PgTimestamp;

/// Maximum number of documents of one read.
pub const EXPIRED_DOCUMENTS_PER_READ_MAX: u32 = 1_000;

/// A position in the order of expired documents: by end, then by conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiryCursor {
    /// The end of a document, in whole microseconds.
    pub expires_at: Timestamp,
    /// Its conversation.
    pub conversation: ConversationId,
}

/// Expired documents of a conversation that accepts their deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiredDocuments {
    /// The agent of the conversation.
    pub agent: AgentId,
    /// The names of the documents: at most [`EVENTS_PER_COMMIT_MAX`], without duplicates.
    pub names: Vec<DocumentName>,
    /// The version of the conversation in its row. Commands must require it, because the record may be ahead of the rows.
    pub version: Version,
    /// When its last event happened, rounded down to the microsecond.
    pub last_event_at: Timestamp,
    /// The first of the documents, and the conversation.
    pub first: ExpiryCursor,
}

/// A page of expired documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiredDocumentsPage {
    /// By their first document. An empty page may be followed by others.
    pub conversations: Vec<ExpiredDocuments>,
    /// The last document that was read; `None`: this is the last page.
    pub next: Option<ExpiryCursor>,
}

/// The documents of the tenant that expired before `now`, the oldest expiry first, after a position. Reads at most
/// [`EXPIRED_DOCUMENTS_PER_READ_MAX`]. Those of archived conversations are skipped, because they cannot be deleted; so are those with the
/// end and the conversation of the last one, if the read ends between them: a pass from the beginning finds them later.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn expired_documents(
    model: &ReadModel,
    access: &TenantAccess,
    now: Timestamp,
    after: Option<&ExpiryCursor>,
) -> Result<ExpiredDocumentsPage, ReadModelError> {
    let expires_at = after.map(|after| PgTimestamp::from_time(after.expires_at));
    let conversation = after.map(|after| after.conversation.as_str());
    let arguments = || {
        arguments![
            access.tenant().as_str(),
            PgTimestamp::from_time(now),
            expires_at.unwrap_or(PgTimestamp::NEGATIVE_INFINITY),
            conversation.unwrap_or_default(),
            i64::from(EXPIRED_DOCUMENTS_PER_READ_MAX),
        ]
    };
    let rows = model.read(access, include_str!("expired.sql"), arguments).await?;
    let is_full = u32::try_from(rows.len()).is_ok_and(|rows| rows >= EXPIRED_DOCUMENTS_PER_READ_MAX);
    let last = rows.last().filter(|_| is_full);
    Ok(ExpiredDocumentsPage {
        next: last.map(|last| cursor(access, last)).transpose()?,
        conversations: by_conversation(access, &rows)?,
    })
}

/// The documents of each conversation, in the order of their first ones.
fn by_conversation(access: &TenantAccess, rows: &[PgRow]) -> Result<Vec<ExpiredDocuments>, ReadModelError> {
    let mut conversations: Vec<ExpiredDocuments> = Vec::new();
    let mut indexes: HashMap<&str, usize> = HashMap::new();
    for row in rows {
        let Some(version) = row.try_get::<Option<i64>, _>("version")? else {
            continue;
        };
        let name = name(access, row)?;
        match indexes.entry(row.try_get("conversation_id")?) {
            Entry::Vacant(entry) => {
                entry.insert(conversations.len());
                let agent = AgentId::parse(row.try_get::<&str, _>("agent_id")?);
                conversations.push(ExpiredDocuments {
                    agent: agent.map_err(|_| corrupt(access, row, "agent_id"))?,
                    names: vec![name],
                    version: Version(unsigned(version)),
                    last_event_at: row.try_get::<PgTimestamp, _>("last_event_at")?.with_nanos(0),
                    first: cursor(access, row)?,
                });
            }
            Entry::Occupied(entry) => {
                let known =
                    conversations.get_mut(*entry.get()).filter(|known| known.names.len() < EVENTS_PER_COMMIT_MAX);
                if let Some(known) = known {
                    known.names.push(name);
                }
            }
        }
    }
    Ok(conversations)
}

fn name(access: &TenantAccess, row: &PgRow) -> Result<DocumentName, ReadModelError> {
    let namespace = DocumentNamespace::decode(row.try_get("namespace")?);
    Ok(DocumentName {
        namespace: namespace.ok_or_else(|| corrupt(access, row, "namespace"))?,
        key: row.try_get("key")?,
    })
}

fn cursor(access: &TenantAccess, row: &PgRow) -> Result<ExpiryCursor, ReadModelError> {
    let conversation = ConversationId::parse(row.try_get::<&str, _>("conversation_id")?);
    Ok(ExpiryCursor {
        expires_at: row.try_get::<PgTimestamp, _>("expires_at")?.with_nanos(0),
        conversation: conversation.map_err(|_| corrupt(access, row, "conversation_id"))?,
    })
}

fn corrupt(access: &TenantAccess, row: &PgRow, field: &str) -> ReadModelError {
    let conversation: &str = row.try_get("conversation_id").unwrap_or_default();
    ReadModelError::corrupt("document", format!("{}/{conversation}", access.tenant()), field)
}
