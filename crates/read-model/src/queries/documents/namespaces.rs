//! Lists the namespaces of documents.

use std::sync::LazyLock;

use domain::document::encoded_label;
use domain::{AgentId, DocumentNamespace, TenantAccess, Timestamp};
use sqlx::Row as _;

use super::scope::{DocumentScope, by_scope};
use crate::arguments::arguments;
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::pg_timestamp::PgTimestamp;

/// Maximum number of namespaces of one read.
pub const DOCUMENT_NAMESPACES_PER_READ_MAX: u32 = 1_000;
/// The label of a pattern that matches every label.
const ANY: &str = "*";

static NAMESPACES: LazyLock<[String; 2]> = LazyLock::new(|| by_scope(include_str!("namespaces.sql")));

/// Which namespaces to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceQuery {
    /// Whose documents.
    pub scope: DocumentScope,
    /// The agent.
    pub agent: AgentId,
    /// Their first labels; `*` matches every label.
    pub prefix: DocumentNamespace,
    /// Their last labels; `*` matches every label.
    pub suffix: DocumentNamespace,
    /// Only this many first labels are returned.
    pub depth_max: u32,
    /// Documents that expire until this time do not count.
    pub now: Timestamp,
    /// How many of the first namespaces are skipped.
    pub offset: u32,
    /// Maximum number of namespaces, capped at [`DOCUMENT_NAMESPACES_PER_READ_MAX`].
    pub limit: u32,
}

/// The namespaces with documents, without duplicates, in the order of their labels.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn list_document_namespaces(
    model: &ReadModel,
    access: &TenantAccess,
    query: &NamespaceQuery,
) -> Result<Vec<DocumentNamespace>, ReadModelError> {
    let (sql, scope) = query.scope.choose(&NAMESPACES);
    let arguments = || {
        arguments![
            access.tenant().as_str(),
            query.agent.as_str(),
            scope.as_str(),
            PgTimestamp::from_time(query.now),
            pattern(&query.prefix),
            pattern(&query.suffix),
            i32::try_from(query.depth_max).unwrap_or(i32::MAX),
            i64::from(query.limit.min(DOCUMENT_NAMESPACES_PER_READ_MAX)),
            i64::from(query.offset),
        ]
    };
    let rows = model.read(access, sql, arguments).await?;
    let namespace = |row: &sqlx::postgres::PgRow| {
        let namespace = DocumentNamespace::decode(row.try_get(0)?);
        namespace.ok_or_else(|| ReadModelError::corrupt("document", format!("{}/?", access.tenant()), "namespace"))
    };
    rows.iter().map(namespace).collect()
}

/// The labels as the column contains them; `NULL` matches every label.
fn pattern(labels: &DocumentNamespace) -> Vec<Option<String>> {
    labels.labels().iter().map(|label| (label != ANY).then(|| encoded_label(label))).collect()
}
