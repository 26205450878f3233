//! Maps call ids and tool names to ones that every provider accepts.
//!
//! The safe set of all providers (O5, O6, R5, A3, A8, G8): ids `[A-Za-z0-9_-]{1,40}`, names `[A-Za-z_][A-Za-z0-9_-]{0,63}`.
//! Other texts are replaced by their safe characters and a digest of the whole text, so that equal texts have equal
//! replacements. The map of a context restores the recorded texts.

use std::collections::{BTreeMap, BTreeSet};

use domain::event::ToolCalled;
use domain::{Fact, ToolName, Version};
use sha2::{Digest as _, Sha256};

/// Maximum characters of a call id that every provider accepts (O5).
pub const CALL_ID_CHARS_MAX: usize = 40;
/// Maximum characters of a tool name that every provider accepts (O6, A8).
pub const TOOL_NAME_CHARS_MAX: usize = 64;
/// Bytes of the digest at the end of a replacement.
const DIGEST_BYTES: usize = 10;
/// Characters of that digest and of the `_` before it.
const ENDING_CHARS: usize = 2 * DIGEST_BYTES + 1;

/// The call ids and tool names of one context, recorded and written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    /// Replaced tool names: written to recorded.
    tools: BTreeMap<String, String>,
    /// Replaced call ids: written to recorded.
    calls: BTreeMap<String, String>,
    /// All written call ids.
    written: BTreeSet<String>,
}

impl Names {
    /// The id of a call in the context. It is unique in the context, even if the recorded id is not.
    pub fn call_id(&mut self, called: &ToolCalled, version: Version) -> String {
        let recorded = called.call_id.as_str();
        let mut written = safe_call_id(recorded);
        let mut salt = version.0;
        while self.written.contains(&written) {
            written = with_digest(recorded, CALL_ID_CHARS_MAX, &digest(recorded, Some(salt)));
            salt = salt.wrapping_add(1);
        }
        self.written.insert(written.clone());
        if written != recorded {
            self.calls.insert(written.clone(), recorded.to_owned());
        }
        written
    }

    /// The name of a tool in the context.
    pub fn tool_name(&mut self, recorded: &ToolName) -> String {
        let written = safe_tool_name(recorded.as_str());
        if written != recorded.as_str() {
            self.tools.insert(written.clone(), recorded.as_str().to_owned());
        }
        written
    }

    /// The replaced tool names: written and recorded.
    pub fn tools(&self) -> impl Iterator<Item = (&str, &str)> {
        self.tools.iter().map(|(a, b)| (a.as_str(), b.as_str()))
    }

    /// The replaced call ids: written and recorded.
    pub fn calls(&self) -> impl Iterator<Item = (&str, &str)> {
        self.calls.iter().map(|(a, b)| (a.as_str(), b.as_str()))
    }

    /// Restores the recorded ids and names in facts from a model that read the context.
    pub fn restore(&self, facts: &mut [Fact]) {
        for fact in facts {
            let (call_id, tool_name) = match fact {
                Fact::ToolCalled(called) => (&mut called.call_id, Some(&mut called.tool_name)),
                Fact::ToolReturned(returned) => (&mut returned.call_id, returned.tool_name.as_mut()),
                Fact::MessageAppended(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => continue,
            };
            if let Some(recorded) = self.calls.get(call_id.as_str())
                && let Ok(recorded) = domain::CallId::parse(recorded)
            {
                *call_id = recorded;
            }
            if let Some(name) = tool_name
                && let Some(recorded) = self.tools.get(name.as_str())
                && let Ok(recorded) = ToolName::parse(recorded)
            {
                *name = recorded;
            }
        }
    }
}

/// A tool name that every provider accepts. Callers declare their tools by this name.
#[must_use]
pub fn safe_tool_name(recorded: &str) -> String {
    let starts_safe = recorded.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts_safe && is_safe(recorded, TOOL_NAME_CHARS_MAX) {
        return recorded.to_owned();
    }
    let prefix = if starts_safe { "" } else { "_" };
    let text = format!("{prefix}{recorded}");
    with_digest(&text, TOOL_NAME_CHARS_MAX, &digest(recorded, None))
}

fn safe_call_id(recorded: &str) -> String {
    if is_safe(recorded, CALL_ID_CHARS_MAX) {
        return recorded.to_owned();
    }
    with_digest(recorded, CALL_ID_CHARS_MAX, &digest(recorded, None))
}

/// Whether a text needs no replacement. A text that ends like a replacement does, so that the two cannot be confused.
fn is_safe(text: &str, chars_max: usize) -> bool {
    !text.is_empty() && text.len() <= chars_max && text.chars().all(is_safe_char) && !ends_in_digest(text)
}

fn is_safe_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn ends_in_digest(text: &str) -> bool {
    let start = text.len().checked_sub(ENDING_CHARS);
    let ending = start.and_then(|start| text.get(start..));
    let digest = ending.and_then(|ending| ending.strip_prefix('_'));
    let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    digest.is_some_and(|digest| digest.chars().all(is_hex))
}

fn with_digest(text: &str, chars_max: usize, digest: &str) -> String {
    let kept: String =
        text.chars().take(chars_max - ENDING_CHARS).map(|c| if is_safe_char(c) { c } else { '_' }).collect();
    format!("{kept}_{digest}")
}

fn digest(text: &str, salt: Option<u64>) -> String {
    let mut hash = Sha256::new();
    hash.update(text);
    if let Some(salt) = salt {
        hash.update([0]);
        hash.update(salt.to_be_bytes());
    }
    let digest = hash.finalize();
    hex::encode(digest.get(..DIGEST_BYTES).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use domain::{CallId, JsonText};

    use super::*;

    #[test]
    fn unsafe_names_are_replaced() {
        let (longest, longer) = ("x".repeat(64), "x".repeat(65));
        check("search", "search");
        check("_a-B9", "_a-B9");
        check(&longest, &longest);
        check(&longer, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_9537c5fdf120482f7d58");
        check("mcp.files/read", "mcp_files_read_6efd9b528294ad03a638");
        check("1st", "_1st_e01ddf6594a4387bbf52");
        check("-", "_-_3973e022e93220f9212c");
        check("größe", "gr__e_d353a2671b67afff0941");
    }

    fn check(recorded: &str, expected: &str) {
        let written = safe_tool_name(recorded);
        assert_eq!(written, expected, "{recorded}");
        assert!(written.len() <= TOOL_NAME_CHARS_MAX && written.chars().all(is_safe_char), "{written}");
    }

    #[test]
    fn a_name_that_looks_like_a_replacement_is_replaced() {
        let written = safe_tool_name("a b");
        assert_ne!(safe_tool_name(&written), written);
    }

    #[test]
    fn ids_of_calls_are_unique_and_restored() {
        let mut names = Names::default();
        let long = "c".repeat(41);
        let recorded = ["a", "a", "a b", "a/b", long.as_str()];
        let written: Vec<String> =
            (1..).zip(recorded).map(|(version, id)| names.call_id(&call(id), Version(version))).collect();
        assert_eq!(written[0], "a");
        assert_eq!(BTreeSet::from_iter(&written).len(), recorded.len());
        let mut facts: Vec<Fact> = written.iter().map(|id| Fact::ToolCalled(call(id))).collect();
        names.restore(&mut facts);
        let expected = recorded.map(|id| Fact::ToolCalled(call(id)));
        assert_eq!(facts, expected);
    }

    fn call(id: &str) -> ToolCalled {
        ToolCalled {
            call_id: CallId::parse(id).unwrap(),
            tool_name: ToolName::parse("search").unwrap(),
            input: JsonText::parse("{}").unwrap(),
            model: None,
            provider: None,
            provider_response_id: None,
            signature: None,
        }
    }
}
