//! JSON of documents.

use domain::JsonText;
use serde::Serialize;
use utoipa::ToSchema;

use api_json::content::Verbatim;
use api_json::instant::rfc3339;
use conversations::documents::Document;

/// A document.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentBody {
    /// The labels of its namespace.
    namespace: Vec<String>,
    /// Its key.
    key: String,
    /// Its value, as it was given.
    value: Verbatim,
    /// Its version. Versions of a document grow, with gaps.
    version: u64,
    /// When its first value was recorded, since its last deletion or expiry; RFC 3339.
    created_at: String,
    /// When its value was recorded; RFC 3339.
    updated_at: String,
    /// From when on it is not read; RFC 3339. Absent: it has no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    /// Its conversation.
    conversation_id: String,
}

impl From<Document> for DocumentBody {
    fn from(document: Document) -> Self {
        let value = document.value;
        Self {
            namespace: document.name.namespace.labels().to_vec(),
            key: document.name.key,
            value: Verbatim(JsonText::recorded(value.value_json)),
            version: value.version.0,
            created_at: rfc3339(value.created_at),
            updated_at: rfc3339(value.updated_at),
            expires_at: value.expires_at.map(rfc3339),
            conversation_id: document.conversation.to_string(),
        }
    }
}
