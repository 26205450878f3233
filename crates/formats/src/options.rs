//! Options of rendering.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Maximum characters of OpenAI's `prompt_cache_key`. A longer key is replaced by its SHA-256 in hexadecimal.
pub const CACHE_KEY_CHARS_MAX: usize = 64;

/// The options of rendering. The defaults suit every format.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RenderOptions {
    /// The role of instructions in OpenAI's formats.
    pub instructions_role: InstructionsRole,
    /// Whether thoughts that the provider accepts are rendered.
    pub thoughts: Thoughts,
    /// The position of the outputs of a turn's calls in OpenAI Responses.
    pub call_outputs: CallOutputs,
    /// A key that routes the requests of one conversation to the same prompt cache: OpenAI's `prompt_cache_key`. For
    /// Anthropic, cache breakpoints are set if there is a key.
    pub cache_key: Option<String>,
    /// The context window of the model in tokens: Ollama's `num_ctx`.
    pub context_tokens_max: Option<u32>,
}

impl RenderOptions {
    /// The cache key in the form that OpenAI accepts; `None` for an empty key.
    pub(crate) fn prompt_cache_key(&self) -> Option<Cow<'_, str>> {
        let key = self.cache_key.as_deref().filter(|key| !key.is_empty())?;
        if key.chars().count() <= CACHE_KEY_CHARS_MAX {
            return Some(Cow::Borrowed(key));
        }
        Some(Cow::Owned(hex::encode(Sha256::digest(key))))
    }
}

/// The role of instructions (O6). Newer models of OpenAI use `developer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InstructionsRole {
    /// `system`.
    #[default]
    System,
    /// `developer`.
    Developer,
}

impl InstructionsRole {
    /// The name of the role at OpenAI.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Developer => "developer",
        }
    }
}

/// Whether thoughts that the provider accepts are rendered (A5, L6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Thoughts {
    /// They are rendered verbatim.
    #[default]
    Replay,
    /// They are omitted and listed as lost, for models that accept none.
    Omit,
}

/// The position of the outputs of a turn's calls (R2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutputs {
    /// After the last call, in the order of the calls. This shows that the calls were parallel.
    #[default]
    Together,
    /// Each directly after its call, as some compatible servers require.
    Adjacent,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_keys_at_their_bound() {
        let check = |key: &str, expected: Option<&str>| {
            let options = RenderOptions { cache_key: Some(key.to_owned()), ..RenderOptions::default() };
            assert_eq!(options.prompt_cache_key().as_deref(), expected);
        };
        check("", None);
        let longest = "ü".repeat(CACHE_KEY_CHARS_MAX);
        check(&longest, Some(&longest));
        let digest = "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9";
        check(&"x".repeat(CACHE_KEY_CHARS_MAX + 1), Some(digest));
        assert_eq!(digest.len(), CACHE_KEY_CHARS_MAX);
    }
}
