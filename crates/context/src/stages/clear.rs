//! Clear: replaces old tool results by stubs, by age, size and tool.

use domain::Part;
use domain::event::ToolOutput;

use crate::outcome::{Effect, Outcome};
use crate::policy::Clear;
use crate::unit::{Call, CallResult, Unit};

/// Most tokens of a stub or a placeholder, including its frame.
pub const STUB_TOKENS: u32 = 96;

/// Replaces each result before the threshold by a stub, unless it is small or its tool is exempt. Returns [`Effect::Cleared`]
/// for each, by version of the call.
pub fn clear(units: &mut [Unit], threshold: u64, settings: &Clear) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for unit in units {
        for call in &mut unit.calls {
            let due = call.result.as_ref().is_some_and(|result| is_due(call, result, threshold, Some(settings)));
            if let Some(result) = call.result.as_mut().filter(|_| due) {
                let tokens = result.tokens.own;
                let call = call.called.call_id.clone();
                let effect = Effect::Cleared { call, tokens };
                outcomes.push(Outcome::of(unit.version, result.version, effect));
                result.returned.output = ToolOutput::Parts(vec![Part::Text(stub(tokens))]);
            }
        }
    }
    outcomes
}

/// The stub of a cleared result.
fn stub(tokens: u32) -> String {
    format!(
        "[This result was cleared to save room; it had about {tokens} tokens. Call the tool again if it is needed.]"
    )
}

pub(super) fn is_due(call: &Call, result: &CallResult, threshold: u64, settings: Option<&Clear>) -> bool {
    settings.is_some_and(|settings| {
        let tokens = result.tokens;
        let keeps = |kept: &String| *kept == call.called.tool_name.as_str();
        tokens.through <= threshold
            && tokens.own >= settings.result_tokens_min.max(STUB_TOKENS)
            && !settings.keep_tools.iter().any(keeps)
    })
}
