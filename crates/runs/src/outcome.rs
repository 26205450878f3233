//! How an answer ended: what every surface translates.

use std::collections::HashSet;

use domain::event::ErrorOccurred;
use domain::{CallId, Fact, Label, RunEnd, RunOutcome};

use crate::ui_chunk::FinishReason;

/// Types of errors that may end soon: the same request can succeed later.
const TEMPORARY: [&str; 3] = ["model_unavailable", "model_overloaded", "model_breaker_open"];

/// How an answer ended, for its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The answer is complete.
    Completed,
    /// The answer is complete, and continues with the results of its open calls.
    WaitsForCalls,
    /// The limit of tokens cut the answer.
    CutByTokenLimit,
    /// The model, or a filter of its server, refused.
    Refused,
    /// A caller stopped the run: the answer is what the model wrote until then.
    Stopped,
    /// The run failed; `None`: for a reason that is not recorded.
    Failed(Option<ErrorOccurred>),
    /// The gateway that executed the run went away.
    Abandoned,
    /// The delivery ended before the answer.
    Interrupted(Interruption),
}

/// Why the delivery of an answer ended before the answer. A recorded answer continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// This gateway shuts down.
    Draining,
    /// The parts of the run are not stored any more.
    Gone,
    /// A part cannot be read or written.
    Unreadable,
}

impl Outcome {
    /// The outcome of a run with this end and these facts.
    #[must_use]
    pub fn of(end: &RunEnd, facts: &[Fact]) -> Self {
        match end.outcome {
            RunOutcome::Stopped => Self::Stopped,
            RunOutcome::Failed => Self::Failed(end.error.clone()),
            RunOutcome::Abandoned => Self::Abandoned,
            RunOutcome::Completed => match FinishReason::of(facts) {
                FinishReason::Length => Self::CutByTokenLimit,
                FinishReason::ContentFilter => Self::Refused,
                FinishReason::ToolCalls => Self::WaitsForCalls,
                FinishReason::Stop | FinishReason::Other => Self::Completed,
            },
        }
    }

    /// Whether the same request can succeed if it is sent again later.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Failed(error) => error.as_ref().is_some_and(|error| TEMPORARY.contains(&error.error_type.as_str())),
            Self::Abandoned | Self::Interrupted(_) => true,
            Self::Completed | Self::WaitsForCalls | Self::CutByTokenLimit | Self::Refused | Self::Stopped => false,
        }
    }
}

impl FinishReason {
    /// Why the model stopped, from the facts of a step or a run. A provider's limit and filter come before open calls, and open
    /// calls before its other reasons: not every provider has one for calls.
    #[must_use]
    pub fn of(facts: &[Fact]) -> Self {
        let label = facts.iter().rev().find_map(|fact| match fact {
            Fact::MessageAppended(message) => Some(message.finish_reason.as_ref()),
            Fact::ToolCalled(_) | Fact::ToolReturned(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => None,
        });
        let reason = label.flatten().map_or(Self::Stop, of_provider);
        match reason {
            Self::Length | Self::ContentFilter => reason,
            _ if has_open_call(facts) => Self::ToolCalls,
            Self::ToolCalls => Self::Stop,
            Self::Stop | Self::Other => reason,
        }
    }
}

/// Whether a provider's finish reason says that the limit of tokens cut the answer.
#[must_use]
pub fn is_length(reason: &str) -> bool {
    matches!(
        reason.to_ascii_lowercase().as_str(),
        "length" | "max_tokens" | "max_output_tokens" | "model_context_window_exceeded"
    )
}

fn of_provider(reason: &Label) -> FinishReason {
    match reason.as_str().to_ascii_lowercase().as_str() {
        reason if is_length(reason) => FinishReason::Length,
        "stop" | "end_turn" | "stop_sequence" | "completed" => FinishReason::Stop,
        "tool_calls" | "tool_use" | "function_call" => FinishReason::ToolCalls,
        "content_filter" | "refusal" | "safety" => FinishReason::ContentFilter,
        _ => FinishReason::Other,
    }
}

fn has_open_call(facts: &[Fact]) -> bool {
    let mut open: HashSet<&CallId> = HashSet::new();
    for fact in facts {
        match fact {
            Fact::ToolCalled(call) => {
                open.insert(&call.call_id);
            }
            Fact::ToolReturned(result) => {
                open.remove(&result.call_id);
            }
            Fact::MessageAppended(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => {}
        }
    }
    !open.is_empty()
}

#[cfg(test)]
mod tests {
    use domain::event::{MessageAppended, Role, ToolCalled, ToolOutcome, ToolOutput, ToolReturned};
    use domain::{JsonText, ToolName};

    use super::*;

    fn message(reason: Option<&str>) -> Fact {
        let finish_reason = reason.map(|reason| Label::parse(reason).unwrap());
        Fact::MessageAppended(MessageAppended { finish_reason, ..MessageAppended::new(Role::Assistant, Vec::new()) })
    }

    fn call(id: &str) -> Fact {
        let id = CallId::parse(id).unwrap();
        Fact::ToolCalled(ToolCalled::new(id, ToolName::parse("look").unwrap(), JsonText::parse("{}").unwrap()))
    }

    fn result(id: &str) -> Fact {
        Fact::ToolReturned(ToolReturned {
            call_id: CallId::parse(id).unwrap(),
            tool_name: None,
            output: ToolOutput::Json(JsonText::parse("1").unwrap()),
            outcome: ToolOutcome::Succeeded,
        })
    }

    fn check(facts: &[Fact], expected: FinishReason) {
        assert_eq!(FinishReason::of(facts), expected, "{facts:?}");
    }

    #[test]
    fn reasons_of_all_providers() {
        for (reason, expected) in [
            (None, FinishReason::Stop),
            (Some("stop"), FinishReason::Stop),
            (Some("end_turn"), FinishReason::Stop),
            (Some("STOP"), FinishReason::Stop),
            (Some("completed"), FinishReason::Stop),
            (Some("length"), FinishReason::Length),
            (Some("max_tokens"), FinishReason::Length),
            (Some("MAX_TOKENS"), FinishReason::Length),
            (Some("max_output_tokens"), FinishReason::Length),
            (Some("content_filter"), FinishReason::ContentFilter),
            (Some("SAFETY"), FinishReason::ContentFilter),
            (Some("refusal"), FinishReason::ContentFilter),
            (Some("pause_turn"), FinishReason::Other),
            // No call is there.
            (Some("tool_use"), FinishReason::Stop),
        ] {
            check(&[message(reason)], expected);
        }
    }

    #[test]
    fn open_calls_wait_and_answered_ones_do_not() {
        check(&[], FinishReason::Stop);
        for reason in [None, Some("stop"), Some("tool_calls"), Some("pause_turn")] {
            check(&[message(reason), call("a")], FinishReason::ToolCalls);
        }
        check(&[call("a"), call("b"), result("a")], FinishReason::ToolCalls);
        check(&[call("a"), result("a"), message(Some("stop"))], FinishReason::Stop);
        check(&[message(Some("length")), call("a")], FinishReason::Length);
    }

    #[test]
    fn ends_of_runs() {
        let check = |outcome, error_type: Option<&str>, expected: Outcome, is_temporary: bool| {
            let error = error_type.map(|error_type| ErrorOccurred {
                error_type: Label::parse(error_type).unwrap(),
                message: "m".to_owned(),
            });
            let actual = Outcome::of(&RunEnd { outcome, error: error.clone() }, &[message(None)]);
            let expected = if error.is_some() { Outcome::Failed(error) } else { expected };
            assert_eq!((actual.is_temporary(), actual), (is_temporary, expected));
        };
        check(RunOutcome::Completed, None, Outcome::Completed, false);
        check(RunOutcome::Stopped, None, Outcome::Stopped, false);
        check(RunOutcome::Abandoned, None, Outcome::Abandoned, true);
        check(RunOutcome::Failed, None, Outcome::Failed(None), false);
        check(RunOutcome::Failed, Some("model_refused"), Outcome::Completed, false);
        for temporary in TEMPORARY {
            check(RunOutcome::Failed, Some(temporary), Outcome::Completed, true);
        }
    }
}
