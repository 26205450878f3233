//! Shows the end of a run on a page, with error texts of our own.

use domain::event::ErrorOccurred;
use domain::{RunEnd, RunOutcome};

use crate::ui_chunk::{FinishReason, UiChunk};
use crate::ui_message::UiMetadata;

/// The text of other errors. A provider's text may contain secrets, so pages do not show it.
const MASKED: &str = "An error occurred.";
/// The text of an abandoned run, whose gateway died.
const ABANDONED: &str = "The answer was cut off. Please try again.";
/// Error types of our own, with their texts.
const SHOWN: [(&str, &str); 10] = [
    ("model_timed_out", "The model took too long to answer."),
    ("run_timed_out", "The answer took too long and was ended."),
    ("model_unavailable", "The model cannot be reached at the moment."),
    ("model_breaker_open", "The model cannot be reached at the moment."),
    ("model_overloaded", "The model is overloaded at the moment."),
    ("quota_exceeded", "Too many requests at the moment."),
    ("budget_too_small", "The conversation is too long for the model."),
    ("run_too_large", "The answer grew too large and was ended."),
    ("too_many_steps", "The answer took too many steps and was ended."),
    ("output_invalid", "The answer did not have the expected form."),
];

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

/// The metadata of the assistant message of a run with this outcome.
pub(crate) fn metadata(outcome: RunOutcome, error: Option<&ErrorOccurred>) -> UiMetadata {
    let error_text = match outcome {
        RunOutcome::Completed | RunOutcome::Stopped => None,
        RunOutcome::Failed => Some(error_text(error)),
        RunOutcome::Abandoned => Some(ABANDONED),
    };
    UiMetadata { outcome, error_text }
}

fn error_text(error: Option<&ErrorOccurred>) -> &'static str {
    let kind = error.map(|error| error.error_type.as_str());
    SHOWN.iter().find(|(known, _)| Some(*known) == kind).map_or(MASKED, |(_, text)| text)
}

#[cfg(test)]
mod tests {
    use domain::Label;

    use super::*;

    fn check(error_type: Option<&str>, expected: &str) {
        let error = error_type.map(|error_type| ErrorOccurred {
            error_type: Label::parse(error_type).unwrap(),
            message: "key sk-1 at 10.0.0.1".to_owned(),
        });
        assert_eq!(error_text(error.as_ref()), expected);
    }

    #[test]
    fn unknown_errors_are_masked() {
        check(None, MASKED);
        check(Some("internal_error"), MASKED);
        for (known, text) in SHOWN {
            check(Some(known), text);
        }
    }
}
