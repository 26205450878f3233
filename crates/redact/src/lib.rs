//! Replaces secrets in texts and JSON documents by marks. Pure: text in, text out.
//!
//! A secret is found by the name of its key or by its form, and replaced by `[redacted:<rule>]`. In JSON that string replaces
//! the value of the key; the rest of the document is unchanged. Redacting a redacted text changes nothing.

mod assignment;
mod card;
mod counts;
mod json;
mod keys;
mod mark;
mod own_patterns;
mod patterns;
mod placeholder;
mod redact;
mod redactor;
mod rule;
mod rules;
mod settings;
mod text;
mod value;

pub use counts::Counts;
pub use own_patterns::{PATTERN_SIZE_BYTES_MAX, PATTERNS_SIZE_BYTES_MAX};
pub use redact::{redact_json, redact_text};
pub use redactor::Redactor;
pub use rule::Rule;
pub use rules::Rules;
pub use settings::{BuiltInRules, InvalidSetting, Settings};
