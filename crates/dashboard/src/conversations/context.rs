//! `/dashboard/conversations/{id}/context`: what a model reads at a version, assembled again as runs assemble it.

pub mod compare_policies;
pub mod download_body;
pub mod inspection;
pub mod show_context;
pub mod values;
pub mod verify_receipt;

use std::str::FromStr;

use serde::{Deserialize, Deserializer};

/// What to show. Forms send empty fields, which count as absent.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct ContextQuery {
    /// The version; absent: the newest.
    #[serde(default, deserialize_with = "blank_is_none")]
    version: Option<u64>,
    /// The name of the format; absent: `openai-chat`.
    #[serde(default)]
    format: String,
    /// The version of the context to compare; absent: that of the previous answer.
    #[serde(default, deserialize_with = "blank_is_none")]
    before: Option<u64>,
    /// Another budget, in tokens.
    #[serde(default, deserialize_with = "blank_is_none")]
    budget: Option<u32>,
    /// Another policy, as JSON; empty: the agent's.
    #[serde(default)]
    policy: String,
}

fn blank_is_none<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: FromStr,
    D: Deserializer<'de>,
{
    let value = String::deserialize(deserializer)?;
    let text = value.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let number = text.parse();
    number.map(Some).map_err(|_| serde::de::Error::custom("is not a number"))
}
