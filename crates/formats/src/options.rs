//! Options of rendering.

use serde::{Deserialize, Serialize};

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

/// The role of instructions (O6). Newer models of OpenAI use `developer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InstructionsRole {
    /// `system`.
    #[default]
    System,
    /// `developer`.
    Developer,
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
