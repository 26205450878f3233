//! A denied tool call, as recorded: a failed result with a fixed document, which models also read.

use domain::event::{ToolOutcome, ToolOutput, ToolReturned};
use domain::{CallId, JsonText};
use serde::{Deserialize, Serialize};

/// The type of the document, as in the AI SDK.
const DENIED: &str = "execution-denied";

/// A person's denial of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The person's reason.
    pub reason: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// The result of a denied call.
#[must_use]
pub fn denial_result(call_id: CallId, denial: Denial) -> ToolReturned {
    let document = Document { kind: DENIED.to_owned(), reason: denial.reason };
    let text = serde_json::to_string(&document).unwrap_or_else(|_| "null".to_owned());
    ToolReturned {
        call_id,
        tool_name: None,
        output: ToolOutput::Json(JsonText::recorded(text)),
        outcome: ToolOutcome::Failed,
    }
}

/// The denial in a result; `None` for other results.
#[must_use]
pub fn denial_of(result: &ToolReturned) -> Option<Denial> {
    let (ToolOutcome::Failed, ToolOutput::Json(text)) = (result.outcome, &result.output) else {
        return None;
    };
    let document: Document = serde_json::from_str(text.as_str()).ok()?;
    (document.kind == DENIED).then_some(Denial { reason: document.reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denials_are_recognised_and_other_failures_are_not() {
        let call = CallId::parse("c").unwrap();
        for reason in [None, Some("no \"way\"".to_owned())] {
            let denial = Denial { reason };
            let result = denial_result(call.clone(), denial.clone());
            assert_eq!(denial_of(&result), Some(denial));
            let succeeded = ToolReturned { outcome: ToolOutcome::Succeeded, ..result };
            assert_eq!(denial_of(&succeeded), None);
        }
        for text in ["{}", "null", r#"{"type":"execution-denied","x":1}"#, r#"{"type":"x"}"#] {
            let failed = ToolReturned {
                call_id: call.clone(),
                tool_name: None,
                output: ToolOutput::Json(JsonText::parse(text).unwrap()),
                outcome: ToolOutcome::Failed,
            };
            assert_eq!(denial_of(&failed), None, "{text}");
        }
    }
}
