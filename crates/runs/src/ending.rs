//! How the end of a run is told to a page: reasons in the AI SDK's words, failures in words of our own.

use domain::event::ErrorOccurred;
use domain::{Label, RunEnd, RunOutcome};

use crate::ui_chunk::{FinishReason, UiChunk};
use crate::ui_message::UiMetadata;

/// What is shown of failures that are not listed: what a provider says may name what no page should.
const MASKED: &str = "An error occurred.";
/// What is shown of a run whose maker was gone.
const ABANDONED: &str = "The answer was cut off. Please try again.";
/// Failures of our own naming, and what is shown of them.
const SHOWN: [(&str, &str); 7] = [
    ("model_timeout", "The model took too long to answer."),
    (
        "model_unavailable",
        "The model cannot be reached at the moment.",
    ),
    ("model_overloaded", "The model is overloaded at the moment."),
    ("rate_limited", "Too many requests at the moment."),
    (
        "context_too_long",
        "The conversation is too long for the model.",
    ),
    ("run_too_large", "The answer grew too large and was ended."),
    (
        "too_many_steps",
        "The answer took too many steps and was ended.",
    ),
];

/// The last chunks of a run.
pub(crate) fn chunks(end: &RunEnd, finish_reason: FinishReason) -> Vec<UiChunk> {
    let message_metadata = metadata(end.outcome, end.error.as_ref());
    let error_text = message_metadata.error_text.unwrap_or(MASKED).to_owned();
    let last = match end.outcome {
        RunOutcome::Completed => UiChunk::Finish { finish_reason },
        RunOutcome::Stopped => UiChunk::Abort,
        RunOutcome::Failed | RunOutcome::Abandoned => UiChunk::Error { error_text },
    };
    vec![UiChunk::MessageMetadata { message_metadata }, last]
}

/// What is known of an answer whose run has ended so.
pub(crate) fn metadata(outcome: RunOutcome, error: Option<&ErrorOccurred>) -> UiMetadata {
    let error_text = match outcome {
        RunOutcome::Completed | RunOutcome::Stopped => None,
        RunOutcome::Failed => Some(error_text(error)),
        RunOutcome::Abandoned => Some(ABANDONED),
    };
    UiMetadata {
        outcome,
        error_text,
    }
}

fn error_text(error: Option<&ErrorOccurred>) -> &'static str {
    let kind = error.map(|error| error.error_type.as_str());
    SHOWN
        .iter()
        .find(|(known, _)| Some(*known) == kind)
        .map_or(MASKED, |(_, text)| text)
}

/// The reason of a provider in the AI SDK's words; `default` where it gave none.
pub(crate) fn finish_reason(given: Option<&Label>, default: FinishReason) -> FinishReason {
    let Some(given) = given else { return default };
    match given.as_str().to_ascii_lowercase().as_str() {
        "stop" | "end_turn" | "stop_sequence" | "completed" => FinishReason::Stop,
        "length" | "max_tokens" | "max_output_tokens" | "model_context_window_exceeded" => {
            FinishReason::Length
        }
        "tool_calls" | "tool_use" | "function_call" => FinishReason::ToolCalls,
        "content_filter" | "refusal" | "safety" => FinishReason::ContentFilter,
        _ => FinishReason::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error_type: Option<&str>, expected: &str) {
        let error = error_type.map(|error_type| ErrorOccurred {
            error_type: Label::parse(error_type).unwrap(),
            message: "key sk-1 at 10.0.0.1".to_owned(),
        });
        assert_eq!(error_text(error.as_ref()), expected);
    }

    #[test]
    fn failures_that_are_not_ours_are_masked() {
        check(None, MASKED);
        check(Some("internal_error"), MASKED);
        for (known, text) in SHOWN {
            check(Some(known), text);
        }
    }

    #[test]
    fn reasons_of_providers_in_the_sdks_words() {
        for (given, expected) in [
            ("end_turn", FinishReason::Stop),
            ("STOP", FinishReason::Stop),
            ("MAX_TOKENS", FinishReason::Length),
            ("tool_use", FinishReason::ToolCalls),
            ("SAFETY", FinishReason::ContentFilter),
            ("pause_turn", FinishReason::Other),
        ] {
            let label = Label::parse(given).unwrap();
            assert_eq!(finish_reason(Some(&label), FinishReason::Other), expected);
        }
        assert_eq!(
            finish_reason(None, FinishReason::ToolCalls),
            FinishReason::ToolCalls
        );
    }
}
