//! The tokens of a model call that are counted: those that the server reports, or an estimate. Pure.
//!
//! A report is a claim of the server. It is counted if it can be true: a token covers at least one byte, so a request and a
//! reply have at most as many tokens as bytes. Allowances cover what has tokens and no bytes here.

use domain::event::Usage;

/// Bytes of text per token, for the estimate.
const BYTES_PER_TOKEN: usize = 4;
/// Maximum number of tokens that a server adds to a request: its own instructions and the template of messages and tools.
const ADDED_TOKENS_MAX: u64 = 32 * 1_024;
/// Maximum number of tokens of a request's pictures and files, of which a link may be all that is sent: the largest context
/// window of the usual models.
const MEDIA_TOKENS_MAX: u64 = 1_024 * 1_024;
/// Maximum number of tokens that a model writes and a server does not return, such as reasoning: the longest output of the
/// usual models.
const HIDDEN_TOKENS_MAX: u64 = 128 * 1_024;

/// The size of a model call, as far as it was sent and received.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CallSize {
    /// Bytes of the context, the tools and the schema of the answer.
    pub(crate) request_bytes: usize,
    /// Number of pictures and files in the context.
    pub(crate) media_parts: usize,
    /// The request's maximum number of output tokens.
    pub(crate) output_tokens_max: Option<u32>,
    /// Bytes of the received texts and calls.
    pub(crate) reply_bytes: usize,
}

/// Where counted tokens come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CountSource {
    /// The server reports them.
    Reported,
    /// The server reports none, or the call was interrupted: they are estimated from the bytes.
    Estimated,
    /// The server reports more than can be true: they are estimated from the bytes.
    Implausible,
}

impl CountSource {
    /// Its name in metrics and logs.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Reported => "reported",
            Self::Estimated => "estimated",
            Self::Implausible => "implausible",
        }
    }
}

/// The tokens that count for a call, and their source.
pub(crate) fn counted_usage(size: &CallSize, reported: Option<Usage>) -> (Usage, CountSource) {
    match reported {
        Some(usage) if is_plausible(size, &usage) => (usage, CountSource::Reported),
        Some(_) => (estimate(size), CountSource::Implausible),
        None => (estimate(size), CountSource::Estimated),
    }
}

fn is_plausible(size: &CallSize, usage: &Usage) -> bool {
    let media_max = if size.media_parts == 0 { 0 } else { MEDIA_TOKENS_MAX };
    let input_max = count(size.request_bytes).saturating_add(ADDED_TOKENS_MAX).saturating_add(media_max);
    let hidden_max = size.output_tokens_max.map_or(HIDDEN_TOKENS_MAX, |max| HIDDEN_TOKENS_MAX.min(max.into()));
    let written_max = count(size.reply_bytes);
    usage.input_tokens <= input_max
        && usage.cached_tokens <= usage.input_tokens
        && usage.output_tokens <= written_max.saturating_add(hidden_max)
        // Some servers do not count reasoning as output.
        && usage.reasoning_tokens <= written_max.saturating_add(HIDDEN_TOKENS_MAX)
}

fn estimate(size: &CallSize) -> Usage {
    Usage {
        input_tokens: count(size.request_bytes.div_ceil(BYTES_PER_TOKEN)),
        output_tokens: count(size.reply_bytes.div_ceil(BYTES_PER_TOKEN)),
        ..Usage::default()
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: CallSize = CallSize { request_bytes: 402, media_parts: 0, output_tokens_max: None, reply_bytes: 41 };
    const WITH_PICTURE: CallSize = CallSize { media_parts: 1, ..SIZE };
    const SHORT: CallSize = CallSize { output_tokens_max: Some(100), ..SIZE };
    const LONG: CallSize = CallSize { output_tokens_max: Some(u32::MAX), ..SIZE };
    const INPUT_MAX: u64 = 402 + 32_768;
    const INPUT_WITH_PICTURE_MAX: u64 = INPUT_MAX + 1_048_576;
    const HIDDEN_MAX: u64 = 131_072;

    #[test]
    fn counts_that_can_be_true_are_counted_as_reported() {
        for (size, input, cached, output, reasoning, is_plausible) in [
            (SIZE, 0, 0, 0, 0, true),
            (SIZE, INPUT_MAX, 0, 0, 0, true),
            (SIZE, INPUT_MAX + 1, 0, 0, 0, false),
            (WITH_PICTURE, INPUT_WITH_PICTURE_MAX, 0, 0, 0, true),
            (WITH_PICTURE, INPUT_WITH_PICTURE_MAX + 1, 0, 0, 0, false),
            (SIZE, 9, 9, 0, 0, true),
            (SIZE, 9, 10, 0, 0, false),
            (SIZE, 0, 0, 41 + HIDDEN_MAX, 0, true),
            (SIZE, 0, 0, 41 + HIDDEN_MAX + 1, 0, false),
            (LONG, 0, 0, 41 + HIDDEN_MAX, 0, true),
            (LONG, 0, 0, 41 + HIDDEN_MAX + 1, 0, false),
            (SHORT, 0, 0, 141, 0, true),
            (SHORT, 0, 0, 142, 0, false),
            (SHORT, 0, 0, 1, 41 + HIDDEN_MAX, true),
            (SHORT, 0, 0, 1, 41 + HIDDEN_MAX + 1, false),
            (SIZE, u64::MAX, u64::MAX, u64::MAX, u64::MAX, false),
        ] {
            let reported = Usage {
                input_tokens: input,
                cached_tokens: cached,
                output_tokens: output,
                reasoning_tokens: reasoning,
            };
            let expected = if is_plausible {
                (reported, CountSource::Reported)
            } else {
                (estimate(&size), CountSource::Implausible)
            };
            assert_eq!(counted_usage(&size, Some(reported)), expected, "{size:?}");
        }
    }

    #[test]
    fn estimates_count_four_bytes_as_a_token() {
        let expected = Usage { input_tokens: 101, output_tokens: 11, ..Usage::default() };
        assert_eq!(counted_usage(&SIZE, None), (expected, CountSource::Estimated));
        let endless = CallSize { request_bytes: usize::MAX, reply_bytes: usize::MAX, ..WITH_PICTURE };
        let most = Usage { input_tokens: u64::MAX, output_tokens: u64::MAX, ..Usage::default() };
        assert_eq!(counted_usage(&endless, Some(most)), (most, CountSource::Reported));
    }
}
