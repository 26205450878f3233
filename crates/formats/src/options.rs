//! What a caller may choose of a format.

use serde::{Deserialize, Serialize};

/// How a context is written. The default suits every format.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RenderOptions {
    /// Who gives the instructions, in OpenAI's formats.
    pub instructions_role: InstructionsRole,
    /// What becomes of thoughts that the provider would take back.
    pub thoughts: Thoughts,
    /// Where the outputs of a turn's calls stand, in OpenAI's Responses.
    pub call_outputs: CallOutputs,
    /// A key that sends requests of one conversation to the same cache, where the provider has one: OpenAI's
    /// `prompt_cache_key`; where it marks breakpoints instead (Anthropic), they are set whenever there is a key.
    pub cache_key: Option<String>,
    /// The model's context in tokens, where the provider wants to be told: Ollama's `num_ctx`.
    pub context_tokens_max: Option<u32>,
}

/// Who gives the instructions (O6): newer models of OpenAI call them the developer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InstructionsRole {
    /// `system`.
    #[default]
    System,
    /// `developer`.
    Developer,
}

/// What becomes of thoughts that the provider would take back (A5, L6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Thoughts {
    /// They are sent back, verbatim.
    #[default]
    Replay,
    /// They are left out, and listed as lost: for a model that takes none.
    Omit,
}

/// Where the outputs of a turn's calls stand (R2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutputs {
    /// After the last call, in the order of the calls: it tells that they were made at once.
    #[default]
    Together,
    /// Each right after its call, as some compatible servers demand.
    Adjacent,
}
