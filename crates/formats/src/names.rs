//! Call ids and tool names that every provider takes.
//!
//! The safe set over all providers (O5, O6, R5, A3, A8, G8): ids `[A-Za-z0-9_-]{1,40}`, names `[A-Za-z_][A-Za-z0-9_-]{0,63}`.
//! What is not in it is written as what is left of it and a digest of all of it, so the same text is always written the
//! same way; the map that comes with a context leads back.

use std::collections::{BTreeMap, BTreeSet};

use domain::event::ToolCalled;
use domain::{Fact, ToolName, Version};
use sha2::{Digest as _, Sha256};

/// Most characters of a call id that every provider takes (O5).
pub const CALL_ID_CHARS_MAX: usize = 40;
/// Most characters of a tool name that every provider takes (O6, A8).
pub const TOOL_NAME_CHARS_MAX: usize = 64;
/// Bytes of the digest that ends what is written otherwise.
const DIGEST_BYTES: usize = 10;
/// Characters of that digest, with the mark before it.
const ENDING_CHARS: usize = 2 * DIGEST_BYTES + 1;

/// The call ids and tool names of one context: as the record has them, and as the context writes them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    /// Tool names that are written otherwise: as written, and as recorded.
    tools: BTreeMap<String, String>,
    /// Calls that are written otherwise: as written, and the recorded id.
    calls: BTreeMap<String, String>,
    /// All call ids as written.
    written: BTreeSet<String>,
}

impl Names {
    /// The id of a call for the context; each call of a context gets one of its own, also where an id was used again.
    pub fn call_id(&mut self, called: &ToolCalled, version: Version) -> String {
        let recorded = called.call_id.as_str();
        let mut written = safe_call_id(recorded);
        let mut salt = version.0;
        while self.written.contains(&written) {
            written = ended(recorded, CALL_ID_CHARS_MAX, &digest(recorded, Some(salt)));
            salt = salt.wrapping_add(1);
        }
        self.written.insert(written.clone());
        if written != recorded {
            self.calls.insert(written.clone(), recorded.to_owned());
        }
        written
    }

    /// The name of a tool for the context.
    pub fn tool_name(&mut self, recorded: &ToolName) -> String {
        let written = safe_tool_name(recorded.as_str());
        if written != recorded.as_str() {
            self.tools
                .insert(written.clone(), recorded.as_str().to_owned());
        }
        written
    }

    /// The tool names that are written otherwise: as written, and as recorded.
    pub fn tools(&self) -> impl Iterator<Item = (&str, &str)> {
        self.tools.iter().map(|(a, b)| (a.as_str(), b.as_str()))
    }

    /// The calls that are written otherwise: as written, and the recorded id.
    pub fn calls(&self) -> impl Iterator<Item = (&str, &str)> {
        self.calls.iter().map(|(a, b)| (a.as_str(), b.as_str()))
    }

    /// Writes the ids and names of facts that came from a reader of the context as the record has them.
    pub fn restore(&self, facts: &mut [Fact]) {
        for fact in facts {
            let (call_id, tool_name) = match fact {
                Fact::ToolCalled(called) => (&mut called.call_id, Some(&mut called.tool_name)),
                Fact::ToolReturned(returned) => {
                    (&mut returned.call_id, returned.tool_name.as_mut())
                }
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

/// A tool name as every provider takes it. Callers write the names of the tools that they offer the same way.
#[must_use]
pub fn safe_tool_name(recorded: &str) -> String {
    let begins_well = recorded.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if begins_well && is_safe(recorded, TOOL_NAME_CHARS_MAX) {
        return recorded.to_owned();
    }
    let begun = if begins_well {
        recorded.to_owned()
    } else {
        format!("_{recorded}")
    };
    ended(&begun, TOOL_NAME_CHARS_MAX, &digest(recorded, None))
}

fn safe_call_id(recorded: &str) -> String {
    if is_safe(recorded, CALL_ID_CHARS_MAX) {
        return recorded.to_owned();
    }
    ended(recorded, CALL_ID_CHARS_MAX, &digest(recorded, None))
}

/// A text that ends as if it had been written otherwise is not safe either: so none is mistaken for another's.
fn is_safe(text: &str, chars_max: usize) -> bool {
    !text.is_empty()
        && text.len() <= chars_max
        && text.chars().all(is_safe_char)
        && !ends_in_digest(text)
}

fn is_safe_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn ends_in_digest(text: &str) -> bool {
    let Some((_, ending)) = text
        .len()
        .checked_sub(ENDING_CHARS)
        .and_then(|at| text.split_at_checked(at))
    else {
        return false;
    };
    ending.strip_prefix('_').is_some_and(|digest| {
        digest
            .chars()
            .all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c))
    })
}

fn ended(text: &str, chars_max: usize, digest: &str) -> String {
    let kept = text.chars().take(chars_max - ENDING_CHARS);
    let mut written: String = kept
        .map(|c| if is_safe_char(c) { c } else { '_' })
        .collect();
    written.push('_');
    written.push_str(digest);
    written
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
    fn safe_names_stay_and_others_keep_what_they_can() {
        let (longest, longer) = ("x".repeat(64), "x".repeat(65));
        check("search", "search");
        check("_a-B9", "_a-B9");
        check(&longest, &longest);
        check(
            &longer,
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_9537c5fdf120482f7d58",
        );
        check("mcp.files/read", "mcp_files_read_6efd9b528294ad03a638");
        check("1st", "_1st_e01ddf6594a4387bbf52");
        check("-", "_-_3973e022e93220f9212c");
        check("größe", "gr__e_d353a2671b67afff0941");
    }

    fn check(recorded: &str, expected: &str) {
        let written = safe_tool_name(recorded);
        assert_eq!(written, expected, "{recorded}");
        assert!(
            written.len() <= TOOL_NAME_CHARS_MAX && written.chars().all(is_safe_char),
            "{written}"
        );
    }

    #[test]
    fn what_looks_written_otherwise_is_written_otherwise() {
        let written = safe_tool_name("a b");
        assert_ne!(safe_tool_name(&written), written);
    }

    #[test]
    fn each_call_has_an_id_of_its_own_that_leads_back() {
        let mut names = Names::default();
        let long = "c".repeat(41);
        let recorded = ["a", "a", "a b", "a/b", long.as_str()];
        let written: Vec<String> = (1..)
            .zip(recorded)
            .map(|(version, id)| names.call_id(&call(id), Version(version)))
            .collect();
        assert_eq!(written[0], "a");
        assert_eq!(BTreeSet::from_iter(&written).len(), recorded.len());
        let mut facts: Vec<Fact> = written
            .iter()
            .map(|id| Fact::ToolCalled(call(id)))
            .collect();
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
