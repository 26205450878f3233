//! Old tool results give way to a stub that says so: by age, size and tool.

use domain::event::ToolOutput;
use domain::{CallId, Part, Version};

use crate::policy::Clear;
use crate::unit::{Call, CallResult, Unit};

/// What stands for a result that is not there, or is cleared: at most so many tokens, its frame among them.
pub const STUB_TOKENS: u32 = 96;

/// A result that was cleared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleared {
    /// The version of the result.
    pub version: Version,
    /// Its call.
    pub call: CallId,
    /// What it weighed, tokens.
    pub tokens: u32,
}

/// Puts a stub in the place of each result that stands before the line, is not too small to matter, and is of no tool whose
/// results stay. Answers what was cleared, by version of the call.
pub fn clear(units: &mut [Unit], line: u64, settings: &Clear) -> Vec<Cleared> {
    let mut cleared = Vec::new();
    for call in units.iter_mut().flat_map(|unit| &mut unit.calls) {
        let due = call
            .result
            .as_ref()
            .is_some_and(|result| is_due(call, result, line, Some(settings)));
        if let Some(result) = call.result.as_mut().filter(|_| due) {
            cleared.push(Cleared {
                version: result.version,
                call: call.called.call_id.clone(),
                tokens: result.tokens.own,
            });
            result.returned.output = ToolOutput::Parts(vec![Part::Text(stub(result.tokens.own))]);
        }
    }
    cleared
}

/// What stands in the place of a cleared result.
fn stub(tokens: u32) -> String {
    format!(
        "[This result was cleared to save room; it had about {tokens} tokens. Call the tool again if it is needed.]"
    )
}

pub(super) fn is_due(
    call: &Call,
    result: &CallResult,
    line: u64,
    settings: Option<&Clear>,
) -> bool {
    settings.is_some_and(|settings| {
        let tokens = result.tokens;
        let keeps = |kept: &String| *kept == call.called.tool_name.as_str();
        tokens.through <= line
            && tokens.own >= settings.result_tokens_min.max(STUB_TOKENS)
            && !settings.keep_tools.iter().any(keeps)
    })
}
