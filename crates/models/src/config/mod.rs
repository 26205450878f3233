//! Which model servers there are, and what is expected of each.

mod checks;

use std::collections::BTreeMap;
use std::fmt;

use formats::{CallOutputs, Format};
use serde::{Deserialize, Serialize};

use crate::key::ApiKey;

pub use checks::{BASE_URL_BYTES_MAX, SERVER_NAME_CHARS_MAX, SERVERS_MAX};

/// The model servers by name; at most [`SERVERS_MAX`], each name 1 to [`SERVER_NAME_CHARS_MAX`] of `A-Za-z0-9_-`.
///
/// The server [`crate::ECHO`] is there without being named; a setting for it may only change its delay and its bounds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelServersConfig(pub BTreeMap<String, ModelServerConfig>);

impl ModelServersConfig {
    /// What is wrong with the settings: the key, such as `local.base_url`, and the rule with its mend.
    #[must_use]
    pub fn mistakes(&self) -> Vec<(String, String)> {
        checks::mistakes(self)
    }
}

/// A model server. Every field has a default, that of an `echo` server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelServerConfig {
    /// What it speaks.
    pub kind: ServerKind,
    /// Where its API begins, as an `http://` or `https://` URL without query; none: that of the provider (of Ollama, this
    /// machine's). None for `echo`.
    pub base_url: Option<String>,
    /// The key that it asks for; an empty one is none.
    pub api_key: Option<ApiKey>,
    /// Longest wait for a connection, in ms.
    pub connect_timeout_ms: u64,
    /// Longest wait for the first piece of a reply, counted from each attempt, in ms.
    pub first_token_timeout_ms: u64,
    /// Longest silence after the first piece, in ms; a sign of life without a piece ends it.
    pub idle_timeout_ms: u64,
    /// Longest time for a reply, retries among it, in ms.
    pub total_timeout_ms: u64,
    /// How often a request is tried again before its first piece has come.
    pub retries_max: u32,
    /// When it is left alone for a while.
    pub breaker: BreakerConfig,
    /// Most requests at once; more wait for their turn.
    pub requests_max: usize,
    /// Most requests of one tenant that wait; more are refused.
    pub waiting_max: usize,
    /// The longest that a request waits for its turn, in ms.
    pub wait_timeout_ms: u64,
    /// The context in tokens where the rendered body names none; for `ollama` only.
    pub num_ctx: Option<u32>,
    /// How the most tokens of a reply are asked for; for `openai_chat` only.
    pub output_limit: OutputLimit,
    /// Where the outputs of a turn's calls stand; for `openai_responses` only, where a server demands them `adjacent`.
    pub call_outputs: CallOutputs,
    /// How long `echo` waits before each word, in ms.
    pub echo_word_delay_ms: u64,
}

/// When a server is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BreakerConfig {
    /// Failures in a row that open the breaker.
    pub failures_max: u32,
    /// How long it stays open before one request is let through, in ms.
    pub open_ms: u64,
}

/// What a model server speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerKind {
    /// The built-in model that answers with the last user's message.
    #[default]
    Echo,
    /// OpenAI chat completions, and the many servers that speak it.
    #[serde(rename = "openai_chat")]
    OpenAiChat,
    /// OpenAI Responses.
    #[serde(rename = "openai_responses")]
    OpenAiResponses,
    /// Anthropic messages.
    Anthropic,
    /// Ollama's `/api/chat`.
    Ollama,
}

/// The field of a chat completion in which the most tokens of a reply stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputLimit {
    /// `max_completion_tokens`, which OpenAI's reasoning models demand.
    #[default]
    MaxCompletionTokens,
    /// `max_tokens`, the only one that older compatible servers know.
    MaxTokens,
}

impl ServerKind {
    /// The format in which it reads a context.
    #[must_use]
    pub fn format(self) -> Format {
        match self {
            Self::Echo => Format::Canonical,
            Self::OpenAiChat => Format::OpenAiChat,
            Self::OpenAiResponses => Format::OpenAiResponses,
            Self::Anthropic => Format::Anthropic,
            Self::Ollama => Format::Ollama,
        }
    }

    /// Whose models it serves, as facts name a provider.
    #[must_use]
    pub fn provider(self) -> &'static str {
        self.format().provider().unwrap_or(crate::ECHO)
    }
}

impl Default for ModelServerConfig {
    fn default() -> Self {
        Self {
            kind: ServerKind::default(),
            base_url: None,
            api_key: None,
            connect_timeout_ms: 2_000,
            first_token_timeout_ms: 60_000,
            idle_timeout_ms: 30_000,
            total_timeout_ms: 600_000,
            retries_max: 2,
            breaker: BreakerConfig::default(),
            requests_max: 256,
            waiting_max: 256,
            wait_timeout_ms: 10_000,
            num_ctx: None,
            output_limit: OutputLimit::default(),
            call_outputs: CallOutputs::default(),
            echo_word_delay_ms: 0,
        }
    }
}

impl Default for BreakerConfig {
    fn default() -> Self {
        Self {
            failures_max: 5,
            open_ms: 10_000,
        }
    }
}

impl fmt::Debug for ModelServerConfig {
    /// Without the URL, which may hold a password, and without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelServerConfig")
            .field("kind", &self.kind)
            .field("connect_timeout_ms", &self.connect_timeout_ms)
            .field("first_token_timeout_ms", &self.first_token_timeout_ms)
            .field("idle_timeout_ms", &self.idle_timeout_ms)
            .field("total_timeout_ms", &self.total_timeout_ms)
            .field("retries_max", &self.retries_max)
            .field("breaker", &self.breaker)
            .field("requests_max", &self.requests_max)
            .field("waiting_max", &self.waiting_max)
            .field("wait_timeout_ms", &self.wait_timeout_ms)
            .finish_non_exhaustive()
    }
}
