//! The settings of the model servers.

mod checks;

use std::collections::BTreeMap;
use std::fmt;

use formats::{CallOutputs, Format};
use serde::{Deserialize, Serialize};

use crate::key::ApiKey;

pub use checks::{BASE_URL_BYTES_MAX, SERVER_NAME_CHARS_MAX, SERVERS_MAX};

/// The model servers by name; at most [`SERVERS_MAX`], each name 1 to [`SERVER_NAME_CHARS_MAX`] of `A-Za-z0-9_-`.
///
/// The server [`crate::ECHO`] always exists; its settings may change only its delay and its bounds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelServersConfig(pub BTreeMap<String, ModelServerConfig>);

impl ModelServersConfig {
    /// Validates the settings. Each error is a key, such as `local.base_url`, and the broken rule with the remedy.
    #[must_use]
    pub fn errors(&self) -> Vec<(String, String)> {
        checks::errors(self)
    }
}

/// A model server. Every field has a default; the defaults are those of an `echo` server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelServerConfig {
    /// The API of the server.
    pub kind: ServerKind,
    /// The base URL of the API: `http://` or `https://`, without a query. Default: the provider's URL; for Ollama, port 11434
    /// of this machine. `echo` has none.
    pub base_url: Option<String>,
    /// The API key; empty: no key.
    pub api_key: Option<ApiKey>,
    /// Maximum time from the start of an attempt to the first piece of the reply, in ms. Raise it for servers that load models on
    /// demand or think for long.
    pub first_token_timeout_ms: u64,
    /// Maximum time without any bytes after the first piece, in ms. Keep-alive bytes restart it. Raise it for slow local models.
    pub idle_timeout_ms: u64,
    /// Maximum time for a reply including retries, in ms. It is no setting: it is the maximum of
    /// `generation.run_timeout_ms`, which ends a run.
    #[serde(skip)]
    pub total_timeout_ms: u64,
    /// Maximum number of retries. A request is not retried after its first piece. Lower it if a proxy before the server retries
    /// already.
    pub retries_max: u32,
    /// The circuit breaker. It is no setting.
    #[serde(skip)]
    pub breaker: BreakerConfig,
    /// Maximum number of concurrent requests; further requests wait. Set it to what the server can serve at once.
    pub requests_max: usize,
    /// Maximum time that a request waits, in ms. It is no setting.
    #[serde(skip)]
    pub wait_timeout_ms: u64,
    /// The context window in tokens if the rendered body has none; only for `ollama`.
    pub num_ctx: Option<u32>,
    /// The field that limits the tokens of a reply; only for `openai_chat`.
    pub output_limit: OutputLimit,
    /// The position of the outputs of a turn's calls; only for `openai_responses`. Some servers require `adjacent`.
    pub call_outputs: CallOutputs,
    /// Delay of `echo` before each word, in ms. Set it to see a frontend with a slow reply, without a model.
    pub echo_word_delay_ms: u64,
}

/// The limits of a circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerConfig {
    /// The number of consecutive failures that opens the breaker.
    pub failures_max: u32,
    /// Time from opening to the first probe, in ms.
    pub open_ms: u64,
}

/// The API of a model server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerKind {
    /// The built-in model, which answers with the last user message.
    #[default]
    Echo,
    /// OpenAI chat completions, and compatible servers.
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

/// The field of a chat completion that limits the tokens of the reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputLimit {
    /// `max_completion_tokens`, which OpenAI's reasoning models require.
    #[default]
    MaxCompletionTokens,
    /// `max_tokens`, the only field that older compatible servers support.
    MaxTokens,
}

impl ServerKind {
    /// The format of contexts for this kind.
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

    /// The provider, as recorded in facts.
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
            first_token_timeout_ms: 60_000,
            idle_timeout_ms: 30_000,
            total_timeout_ms: 1_800_000,
            retries_max: 2,
            breaker: BreakerConfig::default(),
            requests_max: 256,
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
        Self { failures_max: 5, open_ms: 10_000 }
    }
}

impl fmt::Debug for ModelServerConfig {
    /// Omits the key, and the URL, which may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelServerConfig")
            .field("kind", &self.kind)
            .field("first_token_timeout_ms", &self.first_token_timeout_ms)
            .field("idle_timeout_ms", &self.idle_timeout_ms)
            .field("total_timeout_ms", &self.total_timeout_ms)
            .field("retries_max", &self.retries_max)
            .field("breaker", &self.breaker)
            .field("requests_max", &self.requests_max)
            .field("wait_timeout_ms", &self.wait_timeout_ms)
            .finish_non_exhaustive()
    }
}
