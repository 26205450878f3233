//! Compares the rows of documents with the record. Values are compared by their digests.

use std::sync::LazyLock;

use domain::{ConversationKey, Version};
use sha2::{Digest as _, Sha256};
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use wire::commit::StoredCommit;

use super::super::cell::{column_bytes, digest_cell};
use super::super::document_fold::{DocumentFold, ProjectedDocument};
use super::difference::Difference;
use super::value_digest::{ValueDigest, value_digest};
use crate::arguments::{bind_key, unsigned};
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// The digest of a value, as [`hex_digest`] computes it.
const VALUE_DIGEST: &str = "encode(sha256(convert_to(document.value_json, 'UTF8')), 'hex')";

/// The rows of documents after a key and up to another one.
pub(super) static SCAN_DOCUMENTS: LazyLock<String> =
    LazyLock::new(|| format!(include_str!("scan_documents.sql"), columns = digested_columns()));

static DOCUMENTS_OF: LazyLock<String> =
    LazyLock::new(|| format!(include_str!("documents_of.sql"), columns = digested_columns()));

/// The documents that the record gives a conversation, without their values.
#[derive(Debug, Clone)]
pub struct DocumentsDigest(DocumentFold);

impl Default for DocumentsDigest {
    fn default() -> Self {
        Self(DocumentFold::new(hex_digest))
    }
}

impl DocumentsDigest {
    /// Adds the next commit of the conversation.
    pub fn absorb(&mut self, stored: &StoredCommit) {
        self.0.absorb(&stored.opened.commit);
    }

    pub(super) fn digest(&self) -> ValueDigest {
        let mut digest = Sha256::new();
        for row in self.0.rows() {
            for column in &ProjectedDocument::COLUMNS {
                digest_cell(&mut digest, (column.cell)(row).as_bytes());
            }
        }
        digest.finalize().into()
    }
}

/// Compares the documents of a conversation with its rows; `None`: the row of the conversation has another version than
/// `version`.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn compare_documents(
    model: &ReadModel,
    key: &ConversationKey,
    expected: &DocumentsDigest,
    version: Version,
) -> Result<Option<Vec<Difference>>, ReadModelError> {
    let rows = model.fetch(&DOCUMENTS_OF, || bind_key(key)).await?;
    let mut digest = Sha256::new();
    for row in &rows {
        if unsigned(row.try_get(0)?) != version.0 {
            return Ok(None);
        }
        if row.try_get::<bool, _>(1)? {
            digest_document(&mut digest, row, 2)?;
        }
    }
    let found: ValueDigest = digest.finalize().into();
    let is_equal = found == expected.digest();
    Ok(Some(if is_equal { Vec::new() } else { vec![Difference::DocumentsDiffer] }))
}

/// Adds a row whose columns start at index `first`.
pub(super) fn digest_document(digest: &mut Sha256, row: &PgRow, first: usize) -> Result<(), ReadModelError> {
    for index in 0..ProjectedDocument::COLUMNS.len() {
        digest_cell(digest, column_bytes(row, first + index)?);
    }
    Ok(())
}

fn digested_columns() -> String {
    let columns = ProjectedDocument::COLUMNS.iter().map(|column| match column.name {
        ProjectedDocument::VALUE => VALUE_DIGEST.to_owned(),
        name => format!("document.{name}"),
    });
    columns.collect::<Vec<_>>().join(", ")
}

fn hex_digest(value: &str) -> String {
    let digest = value_digest(value.as_bytes());
    digest.iter().fold(String::new(), |mut hex, byte| {
        let nibbles = [byte >> 4, byte & 15].into_iter();
        hex.extend(nibbles.filter_map(|nibble| char::from_digit(nibble.into(), 16)));
        hex
    })
}
