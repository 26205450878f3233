//! `data-…` parts of the AI SDK: JSON of the page that no model reads, recorded verbatim as items of [`DATA_PROVIDER`].

use domain::violation::check_length;
use domain::{JsonText, Label, Part, Violation, ViolationReason};
use serde::Deserialize;

/// The provider of the items, which is no provider of models: formats omit them.
pub const DATA_PROVIDER: &str = "ai-sdk";
/// Maximum bytes of a part as JSON.
pub const DATA_PART_BYTES_MAX: usize = 64 * 1024;
/// The prefix of the types of these parts.
pub(crate) const DATA_PREFIX: &str = "data-";

/// The type of a part.
#[derive(Debug, Deserialize)]
struct Typed {
    #[serde(rename = "type")]
    kind: String,
}

/// The recorded form of a `data-…` part.
pub(crate) fn to_recorded(part_json: &str) -> Result<Part, Violation> {
    check_length(part_json.len(), DATA_PART_BYTES_MAX)?;
    Ok(Part::ProviderItem { provider: Label::parse(DATA_PROVIDER)?, item: JsonText::parse(part_json)? })
}

/// The part that a recorded item is; `None`: it is an item of a provider, or not a `data-…` part.
pub(crate) fn from_recorded(provider: &Label, item: &JsonText) -> Option<JsonText> {
    if provider.as_str() != DATA_PROVIDER {
        return None;
    }
    let typed: Typed = serde_json::from_str(item.as_str()).ok()?;
    typed.kind.starts_with(DATA_PREFIX).then(|| item.clone())
}

/// Checks the name of a part's type.
pub(crate) fn check_type(kind: &str) -> Result<(), Violation> {
    if kind.len() > DATA_PREFIX.len() {
        return Ok(());
    }
    let rule = "has no name after data-: give the part a name";
    Err(Violation::new(ViolationReason::Malformed, rule).within("type"))
}
