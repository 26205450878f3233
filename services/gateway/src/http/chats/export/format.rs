//! The forms of an export.

use serde::Deserialize;
use utoipa::ToSchema;

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExportFormat {
    /// One JSON document, from which the record's hash chain can be computed again.
    #[default]
    Json,
    /// A table for spreadsheets, as RFC 4180 says; no cell is a formula.
    Csv,
}

impl ExportFormat {
    pub(in crate::http::chats) fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Csv => "text/csv; charset=utf-8; header=present",
        }
    }

    pub(in crate::http::chats) fn extension(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Csv => "csv",
        }
    }
}
