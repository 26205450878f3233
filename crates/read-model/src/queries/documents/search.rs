//! Searches documents below a namespace, by conditions on their values, the last updated first.

use std::sync::LazyLock;

use domain::{AgentId, ConversationId, DocumentNamespace, TenantAccess, Timestamp, Version};
use serde::Serialize;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::find::DocumentValue;
use super::scope::{DocumentScope, by_scope};
use crate::arguments::{arguments, unsigned};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::pg_timestamp::PgTimestamp;

/// Maximum number of documents of one read.
pub const DOCUMENTS_PER_READ_MAX: u32 = 101;

static SEARCH: LazyLock<[String; 2]> = LazyLock::new(|| by_scope(include_str!("search.sql")));

/// How a member of a value is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DocumentOperator {
    /// Equal; numbers by their value. A missing member equals `null`.
    Eq,
    /// Not equal.
    Ne,
    /// Greater: numbers by their value, strings by their bytes. Values of different or other types do not match.
    Gt,
    /// Greater or equal.
    Gte,
    /// Less.
    Lt,
    /// Less or equal.
    Lte,
    /// Is an object. The operand is ignored.
    Object,
}

/// A condition on the value of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DocumentCondition {
    /// The names of nested members, from the outermost.
    pub path: Vec<String>,
    /// The comparison.
    pub operator: DocumentOperator,
    /// The JSON text to compare with, one that [`domain::JsonText::parse_comparable`] accepts.
    pub operand: String,
}

/// Which documents to return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentQuery {
    /// Whose documents.
    pub scope: DocumentScope,
    /// The agent.
    pub agent: AgentId,
    /// The first labels of their namespaces.
    pub prefix: DocumentNamespace,
    /// All must match.
    pub conditions: Vec<DocumentCondition>,
    /// Documents that expire until this time are not returned.
    pub now: Timestamp,
    /// How many of the first documents are skipped.
    pub offset: u32,
    /// Maximum number of documents, capped at [`DOCUMENTS_PER_READ_MAX`].
    pub limit: u32,
}

/// A document with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundDocument {
    /// Its conversation.
    pub conversation: ConversationId,
    /// Its namespace.
    pub namespace: DocumentNamespace,
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: DocumentValue,
}

/// The documents that match, by their last update, the latest first, then by conversation, namespace and key.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn search_documents(
    model: &ReadModel,
    access: &TenantAccess,
    query: &DocumentQuery,
) -> Result<Vec<FoundDocument>, ReadModelError> {
    let (sql, scope) = query.scope.choose(&SEARCH);
    let (first, after) = query.prefix.encoded_range();
    let conditions = serde_json::to_string(&query.conditions).unwrap_or_default();
    let arguments = || {
        arguments![
            access.tenant().as_str(),
            query.agent.as_str(),
            scope.as_str(),
            first.as_str(),
            after.as_str(),
            PgTimestamp::from_time(query.now),
            conditions.as_str(),
            i64::from(query.limit.min(DOCUMENTS_PER_READ_MAX)),
            i64::from(query.offset),
        ]
    };
    let rows = model.read(access, sql, arguments).await?;
    rows.iter().map(|row| found(access, row)).collect()
}

fn found(access: &TenantAccess, row: &PgRow) -> Result<FoundDocument, ReadModelError> {
    let (conversation, namespace): (&str, &str) = (row.try_get("conversation_id")?, row.try_get("namespace")?);
    let corrupt = |field: &str| {
        let key = format!("{}/{conversation}", access.tenant());
        ReadModelError::corrupt("document", key, field)
    };
    Ok(FoundDocument {
        conversation: ConversationId::parse(conversation).map_err(|_| corrupt("conversation_id"))?,
        namespace: DocumentNamespace::decode(namespace).ok_or_else(|| corrupt("namespace"))?,
        key: row.try_get("key")?,
        value: DocumentValue {
            version: Version(unsigned(row.try_get("version")?)),
            created_at: row.try_get::<PgTimestamp, _>("created_at")?.with_nanos(0),
            updated_at: row.try_get::<PgTimestamp, _>("updated_at")?.with_nanos(0),
            expires_at: row.try_get::<Option<PgTimestamp>, _>("expires_at")?.map(|at| at.with_nanos(0)),
            value_json: row.try_get("value_json")?,
        },
    })
}
