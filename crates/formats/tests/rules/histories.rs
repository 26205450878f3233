//! Random transcripts that the stages could produce, and random options.

mod numbering;
mod parts;
mod words;

use context::{Answer, AnswerOrigin, AnsweredCall, Transcript, Turn};
use domain::event::{Role, ToolCalled, ToolOutcome, ToolOutput};
use domain::{JsonText, Label, Part, Version};
use formats::{CallOutputs, InstructionsRole, RenderOptions, Thoughts};
use proptest::prelude::*;
use proptest::sample::select;

pub(crate) use parts::SECRET;
use words::{call_ids, documents, labels, non_blank_text, providers, texts, tool_names};

/// Maximum number of turns of a random transcript.
const TURNS_MAX: usize = 8;
/// Maximum number of calls of a random turn.
const CALLS_MAX: usize = 3;

/// Any transcript. Many turns have the provider `own`.
pub(crate) fn transcripts(own: Option<&'static str>) -> impl Strategy<Value = Transcript> {
    let frame = (
        prop::collection::vec(non_blank_text(), 0..3),
        prop::option::weighted(0.2, non_blank_text()),
        prop::option::weighted(0.2, non_blank_text()),
    );
    let turns = prop::collection::vec(turns(own), 0..=TURNS_MAX);
    (frame, turns).prop_map(|((instructions, opening, closing), turns)| {
        numbering::numbered(Transcript { instructions, opening, turns, closing })
    })
}

/// Transcripts that every format renders without losses: texts and calls, the user first and last.
pub(crate) fn plain_transcripts() -> impl Strategy<Value = Transcript> {
    let user = texts().prop_map(|text| turn(Role::User, vec![Part::Text(format!("u{text}"))]));
    let calls = prop::collection::vec(plain_calls(), 0..=CALLS_MAX);
    let assistant = (texts(), calls)
        .prop_map(|(text, calls)| Turn { calls, ..turn(Role::Assistant, vec![Part::Text(format!("a{text}"))]) });
    let exchanges = prop::collection::vec((user, assistant), 0..4);
    (prop::option::of(non_blank_text()), exchanges).prop_map(|(instruction, exchanges)| {
        let mut turns: Vec<Turn> = exchanges.into_iter().flat_map(|(u, a)| [u, a]).collect();
        turns.push(turn(Role::User, vec![Part::Text("last <#>".to_owned())]));
        numbering::numbered(Transcript {
            instructions: instruction.into_iter().collect(),
            opening: None,
            turns,
            closing: None,
        })
    })
}

/// Any options. The context window is always set, because Ollama's rules require it.
pub(crate) fn options() -> impl Strategy<Value = RenderOptions> {
    let roles = select(vec![InstructionsRole::System, InstructionsRole::Developer]);
    let thoughts = prop_oneof![3 => Just(Thoughts::Replay), 1 => Just(Thoughts::Omit)];
    let outputs = prop_oneof![3 => Just(CallOutputs::Together), 1 => Just(CallOutputs::Adjacent)];
    let cache_keys = prop::option::of("[a-z]{1,8}");
    (roles, thoughts, outputs, cache_keys).prop_map(|(instructions_role, thoughts, call_outputs, cache_key)| {
        RenderOptions { instructions_role, thoughts, call_outputs, cache_key, context_tokens_max: Some(8_192) }
    })
}

fn turn(role: Role, parts: Vec<Part>) -> Turn {
    Turn {
        version: Version(1),
        role,
        parts,
        author: None,
        provider: None,
        written: context::Written::BehindThis,
        calls: Vec::new(),
    }
}

fn turns(own: Option<&'static str>) -> impl Strategy<Value = Turn> {
    let roles = prop_oneof![
        4 => Just(Role::User),
        6 => Just(Role::Assistant),
        1 => Just(Role::System),
        1 => Just(Role::Developer),
    ];
    roles.prop_flat_map(move |role| {
        let calls = if role == Role::Assistant { CALLS_MAX } else { 0 };
        (
            parts::parts(role),
            labels(&["Ann", "jo é <|"]),
            providers(own),
            prop::option::of(prop::collection::vec(calls_of_any_kind(), 0..=calls)),
        )
            .prop_map(move |(parts, author, provider, calls)| Turn {
                calls: calls.into_iter().flatten().map(|call| by(call, provider.as_ref())).collect(),
                author,
                provider,
                ..turn(role, parts)
            })
    })
}

fn by(mut call: AnsweredCall, provider: Option<&Label>) -> AnsweredCall {
    call.called.provider = provider.cloned();
    call
}

fn calls_of_any_kind() -> impl Strategy<Value = AnsweredCall> {
    let signatures = prop::option::weighted(0.3, select(&["c2lnbmVkIGNhbGw#", ""][..]));
    let outputs = prop_oneof![documents().prop_map(ToolOutput::Json), parts::results().prop_map(ToolOutput::Parts),];
    let outcomes = prop_oneof![4 => Just(ToolOutcome::Succeeded), 1 => Just(ToolOutcome::Failed)];
    let origins = select(vec![
        AnswerOrigin::Recorded(Version(1)),
        AnswerOrigin::Cleared(Version(1)),
        AnswerOrigin::Pending,
        AnswerOrigin::Interrupted,
    ]);
    (call_ids(), tool_names(), documents(), signatures, (outputs, outcomes, origins)).prop_map(
        |(call_id, tool_name, input, signature, (output, outcome, origin))| AnsweredCall {
            version: Version(1),
            called: ToolCalled {
                call_id,
                tool_name,
                input,
                model: None,
                provider: None,
                provider_response_id: None,
                signature: signature.map(str::to_owned),
            },
            answer: Answer { output, outcome, origin },
        },
    )
}

fn plain_calls() -> impl Strategy<Value = AnsweredCall> {
    calls_of_any_kind().prop_map(|mut call| {
        if !call.called.input.as_str().trim_start().starts_with('{') {
            call.called.input = JsonText::recorded("{\"q\":[1,\"#\"]}".to_owned());
        }
        call.called.signature = None;
        call.answer.outcome = ToolOutcome::Succeeded;
        if let ToolOutput::Parts(_) = call.answer.output {
            call.answer.output = ToolOutput::Parts(vec![Part::Text("result <#>".to_owned())]);
        }
        call
    })
}

#[cfg(test)]
mod tests;
