//! Limits of known models, by name. They fill gaps of a policy; numbers in a policy take precedence.
//!
//! Contexts are taken from the providers' descriptions of their models (November 2026) and were not measured. Percentages are
//! safe estimates for prose, code and JSON: only `OpenAI` publishes its vocabulary.

/// The limits of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelLimits {
    /// The context window, in tokens as the provider counts them.
    pub context_tokens_max: u32,
    /// The most tokens that the provider counts where `o200k_base` counts 100: an estimate.
    pub tokens_percent: u16,
}

/// Prefix of a model's name, context window, percentage.
const MODELS: [(&str, u32, u16); 14] = [
    ("gpt-3.5-turbo", 16_385, 120),
    ("gpt-4", 8_192, 120),
    ("gpt-4-turbo", 128_000, 120),
    ("gpt-4o", 128_000, 100),
    ("gpt-4.1", 1_047_576, 100),
    ("gpt-4.5", 128_000, 100),
    // 128,000 of its 400,000 tokens are reserved for the reply.
    ("gpt-5", 272_000, 100),
    ("chatgpt-4o", 128_000, 100),
    ("o1", 200_000, 100),
    ("o3", 200_000, 100),
    ("o4", 200_000, 100),
    ("claude-", 200_000, 130),
    ("gemini-", 1_048_576, 110),
    ("gemini-1.5-pro", 2_097_152, 110),
];

/// The limits of a model: those of the longest known prefix of its name. A provider's prefix (`openai/`, `models/`) and case
/// are ignored. None: the model is unknown; a self-hosted model's context is set by its server.
#[must_use]
pub fn limits(model: &str) -> Option<ModelLimits> {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let known = MODELS.iter().filter(|(start, ..)| name.starts_with(start));
    known.max_by_key(|(start, ..)| start.len()).map(|(_, context_tokens_max, tokens_percent)| ModelLimits {
        context_tokens_max: *context_tokens_max,
        tokens_percent: *tokens_percent,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_start_that_is_known_tells() {
        check("gpt-4o-mini-2024-07-18", Some((128_000, 100)));
        check("gpt-4", Some((8_192, 120)));
        check("gpt-4-turbo-preview", Some((128_000, 120)));
        check("gpt-4.1-nano", Some((1_047_576, 100)));
        check("gpt-5-mini", Some((272_000, 100)));
        check("openai/gpt-5", Some((272_000, 100)));
        check("o3", Some((200_000, 100)));
        check("o4-mini", Some((200_000, 100)));
        check("Claude-Sonnet-4-5", Some((200_000, 130)));
        check("models/gemini-2.5-pro", Some((1_048_576, 110)));
        check("gemini-1.5-pro-002", Some((2_097_152, 110)));
        for unknown in ["", "llama3", "qwen3:8b", "claude", "my-gpt-4o", "gpt-4o/"] {
            check(unknown, None);
        }
    }

    fn check(model: &str, expected: Option<(u32, u16)>) {
        let found = limits(model).map(|limits| (limits.context_tokens_max, limits.tokens_percent));
        assert_eq!(found, expected, "{model}");
    }
}
