//! The formats of exports.

use serde::Deserialize;
use utoipa::ToSchema;

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExportFormat {
    /// One JSON document. The hash chain of the record can be computed from it.
    #[default]
    Json,
    /// CSV for spreadsheets (RFC 4180); no cell is a formula.
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
