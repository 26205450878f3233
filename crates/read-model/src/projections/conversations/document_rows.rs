//! Writes the rows of documents.

use std::sync::LazyLock;

use sqlx::postgres::PgConnection;

use super::cell::Cell;
use super::column::SqlType::{Bigint, Text, Timestamptz};
use super::column::{Column, arrays, bind_columns, column, insert, names};
use super::document_fold::{DocumentFold, ProjectedDocument, RemovedDocument};
use super::group::Group;
use super::write_failure::WriteFailure;
use crate::arguments::execute;

/// Inserts or replaces rows: arrays of [`ProjectedDocument::COLUMNS`].
static PUT_DOCUMENTS: LazyLock<String> = LazyLock::new(|| {
    format!(include_str!("put_documents.sql"), insert = insert("document", &[&ProjectedDocument::COLUMNS]))
});

/// Removes rows: arrays of [`RemovedDocument::COLUMNS`].
static REMOVE_DOCUMENTS: LazyLock<String> = LazyLock::new(|| {
    let columns: &[&[Column<RemovedDocument>]] = &[&RemovedDocument::COLUMNS];
    format!(include_str!("remove_documents.sql"), arrays = arrays(columns), columns = names(columns, ""))
});

impl ProjectedDocument {
    /// The column of the value.
    pub(super) const VALUE: &'static str = "value_json";
    /// All columns.
    #[rustfmt::skip]
    pub(super) const COLUMNS: [Column<Self>; 11] = [
        column("version", Bigint, |row| Cell::bigint(row.version)),
        column("created_at", Timestamptz, |row| Cell::timestamp(row.created_at)),
        column("updated_at", Timestamptz, |row| Cell::timestamp(row.updated_at)),
        column("expires_at", Timestamptz, |row| Cell::optional(row.expires_at, Cell::timestamp)),
        column("tenant_id", Text, |row| Cell::text(&row.tenant)),
        column("conversation_id", Text, |row| Cell::text(&row.conversation)),
        column("agent_id", Text, |row| Cell::text(&row.agent)),
        column("owner", Text, |row| Cell::text(&row.owner)),
        column("namespace", Text, |row| Cell::text(&row.namespace)),
        column("key", Text, |row| Cell::text(&row.key)),
        column(Self::VALUE, Text, |row| Cell::text(&row.value)),
    ];
}

impl RemovedDocument {
    #[rustfmt::skip]
    const COLUMNS: [Column<Self>; 5] = [
        column("tenant_id", Text, |row| Cell::text(&row.tenant)),
        column("conversation_id", Text, |row| Cell::text(&row.conversation)),
        column("namespace", Text, |row| Cell::text(&row.namespace)),
        column("key", Text, |row| Cell::text(&row.key)),
        column("version", Bigint, |row| Cell::bigint(row.version)),
    ];
}

/// Writes the documents of the groups that are not erased.
pub(super) async fn write_documents(connection: &mut PgConnection, groups: &[Group<'_>]) -> Result<(), WriteFailure> {
    let (mut rows, mut removed) = (Vec::new(), Vec::new());
    for group in groups.iter().filter(|group| !group.is_erased()) {
        let mut fold = DocumentFold::new(str::to_owned);
        for stored in &group.commits {
            fold.absorb(&stored.opened.commit);
        }
        let (put, deleted) = fold.into_rows();
        rows.extend(put);
        removed.extend(deleted);
    }
    if !removed.is_empty() {
        let arguments = bind_columns(&[&RemovedDocument::COLUMNS], &removed);
        execute(connection, REMOVE_DOCUMENTS.as_str(), arguments).await?;
    }
    if !rows.is_empty() {
        let arguments = bind_columns(&[&ProjectedDocument::COLUMNS], &rows);
        execute(connection, PUT_DOCUMENTS.as_str(), arguments).await?;
    }
    Ok(())
}
