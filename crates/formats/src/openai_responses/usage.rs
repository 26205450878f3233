//! The token counts of a reply.

use domain::event::Usage;
use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct TokenCounts {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    input_tokens_details: Option<InputDetails>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct InputDetails {
    #[serde(default)]
    cached_tokens: u64,
}

#[derive(Deserialize)]
struct OutputDetails {
    #[serde(default)]
    reasoning_tokens: u64,
}

impl From<TokenCounts> for Usage {
    fn from(counts: TokenCounts) -> Self {
        let read = counts.input_tokens_details;
        let written = counts.output_tokens_details;
        Self {
            input_tokens: counts.input_tokens,
            output_tokens: counts.output_tokens,
            cached_tokens: read.map_or(0, |it| it.cached_tokens),
            reasoning_tokens: written.map_or(0, |it| it.reasoning_tokens),
        }
    }
}
