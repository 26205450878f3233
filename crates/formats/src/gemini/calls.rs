//! Renders the calls of a turn, and their results in equal number and order (G3).

use std::borrow::Cow;

use context::{AnsweredCall, Turn};
use domain::JsonText;
use domain::event::{ToolOutcome, ToolOutput};

use super::body::{MadePart, OutAnswer, OutArgs, OutCall, OutData, OutJson, OutPart, OutResponse};
use super::parts::part_text;
use super::{PROVIDER, SKIP_SIGNATURE};
use crate::loss::LostContent;
use crate::rendered::Notes;

/// The calls of a turn. They are one step.
pub(super) fn written_calls<'a>(turn: &'a Turn, notes: &mut Notes) -> Vec<OutPart<'a>> {
    let calls = turn.calls.iter().enumerate();
    let written = calls.map(|(index, call)| {
        let skip = (index == 0).then_some(SKIP_SIGNATURE);
        OutPart::Made(MadePart {
            data: OutData::Call { function_call: written_call(call, notes) },
            thought_signature: own_signature(call, notes).or(skip),
        })
    });
    written.collect()
}

/// The results of the rendered calls.
pub(super) fn written_answers<'a>(turn: &'a Turn, written: &[OutPart<'_>], notes: &mut Notes) -> Vec<OutPart<'a>> {
    let calls = written.iter().filter_map(|part| match part {
        OutPart::Made(MadePart { data: OutData::Call { function_call }, .. }) => Some(function_call),
        OutPart::Made(_) | OutPart::Verbatim(_) => None,
    });
    let answered = turn.calls.iter().zip(calls);
    let answers = answered.map(|(call, written)| OutAnswer {
        id: written.id.clone(),
        name: written.name.clone(),
        response: response(call, notes),
    });
    answers.map(|function_response| OutPart::unsigned(OutData::Answer { function_response })).collect()
}

fn written_call<'a>(call: &'a AnsweredCall, notes: &mut Notes) -> OutCall<'a> {
    OutCall {
        id: notes.names.call_id(&call.called, call.version),
        name: notes.names.tool_name(&call.called.tool_name),
        args: args(&call.called.input).unwrap_or_else(|input| {
            notes.change_form(call.version, LostContent::InputForm);
            OutArgs::Wrapped { input }
        }),
    }
}

/// The input, if it is an object.
fn args(input: &JsonText) -> Result<OutArgs<'_>, OutJson<'_>> {
    match OutJson::from_json(input) {
        OutJson::Raw(raw) if raw.get().starts_with('{') => Ok(OutArgs::Object(raw)),
        json @ (OutJson::Raw(_) | OutJson::Text(_)) => Err(json),
    }
}

/// The signature of a call of this provider (G5).
fn own_signature<'a>(call: &'a AnsweredCall, notes: &mut Notes) -> Option<&'a str> {
    let signature = call.called.signature.as_deref().filter(|signature| !signature.is_empty())?;
    let provider = call.called.provider.as_ref();
    if provider.is_some_and(|provider| provider.as_str() == PROVIDER) {
        return Some(signature);
    }
    notes.omit(call.version, LostContent::CallSignature);
    None
}

fn response<'a>(call: &'a AnsweredCall, notes: &mut Notes) -> OutResponse<'a> {
    let output = match &call.answer.output {
        ToolOutput::Json(json) => OutJson::from_json(json),
        ToolOutput::Parts(parts) => {
            let texts: Vec<_> = parts.iter().filter_map(|part| part_text(part, call.version, notes)).collect();
            OutJson::Text(Cow::Owned(texts.join("\n")))
        }
    };
    match call.answer.outcome {
        ToolOutcome::Succeeded => OutResponse::Output(output),
        ToolOutcome::Failed => OutResponse::Error(output),
    }
}
