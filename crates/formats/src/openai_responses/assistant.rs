//! The assistant's turn: its messages and items, then its calls, then their outputs.

use std::collections::BTreeMap;

use context::Turn;
use domain::{Part, Version};

use crate::loss::{Became, Lost};
use crate::options::CallOutputs;

use super::body::{Content, ContentPart, Item};
use super::content::{Place, content_part, output};
use super::draft::Draft;
use super::own_item::{Own, Verbatim, own_part, recognise};

/// A turn of which a part is written.
#[derive(Default)]
struct Speech<'a> {
    version: Version,
    /// Reasoning whose item has not come yet (R3).
    thought: Option<Verbatim<'a>>,
    /// The phase of the message under way, or of the next (R7).
    phase: Option<String>,
    /// The message under way.
    message: Vec<ContentPart<'a>>,
    /// The reasoning before each call that has a mark; none where there is none.
    marked: BTreeMap<usize, Option<Verbatim<'a>>>,
    /// Whether what stood after a call was written before it.
    reordered: bool,
}

/// Writes the turn. Calls and their outputs stand together at its end, or each output right after its call where that is
/// asked for (R1, R2); each call with the reasoning before it (R3).
pub(super) fn assistant<'a>(draft: &mut Draft<'a>, turn: &'a Turn) {
    let mut speech = Speech {
        version: turn.version,
        ..Speech::default()
    };
    for part in &turn.parts {
        match own_part(part).map(recognise) {
            Some(own) => item(draft, &mut speech, own),
            None => said(draft, &mut speech, part),
        }
    }
    close(draft, &mut speech);
    if speech.reordered && !turn.calls.is_empty() {
        draft.lose(turn.version, Lost::PartOrder, Became::OtherForm);
    }
    if speech.marked.is_empty() && !turn.calls.is_empty() {
        let thought = speech.thought.take();
        speech.marked.insert(0, thought);
    }
    forsake(draft, &mut speech);
    calls(draft, turn, speech.marked);
}

fn said<'a>(draft: &mut Draft<'a>, speech: &mut Speech<'a>, part: &'a Part) {
    let Some(part) = content_part(draft, speech.version, part, Place::Output) else {
        return;
    };
    if speech.message.is_empty()
        && let Some(thought) = speech.thought.take()
    {
        draft.think(thought, speech.version);
    }
    speech.reordered |= !speech.marked.is_empty();
    speech.message.push(part);
}

fn item<'a>(draft: &mut Draft<'a>, speech: &mut Speech<'a>, own: Own<'a>) {
    close(draft, speech);
    match own {
        Own::MessageMark { phase } => {
            speech.phase = phase;
            return;
        }
        Own::CallMark { index } => {
            let thought = speech.thought.take();
            speech.marked.insert(index, thought);
        }
        Own::Reasoning(thought) => {
            forsake(draft, speech);
            speech.thought = Some(thought);
        }
        Own::Made(made) => made_item(draft, speech, made),
        Own::Answer(answer) => {
            forsake(draft, speech);
            draft.answer(answer, speech.version);
        }
        Own::Other => {
            forsake(draft, speech);
            draft.lose(speech.version, Lost::ProviderItem, Became::Nothing);
        }
    }
    speech.phase = None;
}

/// Writes another item of the model with its reasoning; when either cannot go, neither does (R3).
fn made_item<'a>(draft: &mut Draft<'a>, speech: &mut Speech<'a>, made: Verbatim<'a>) {
    let goes = draft.takes(&made);
    let thought = speech.thought.take();
    let thought_goes = match thought {
        Some(thought) if goes => draft.think(thought, speech.version),
        Some(_) => {
            draft.lose(speech.version, Lost::Thinking, Became::Nothing);
            false
        }
        None => true,
    };
    if goes && thought_goes {
        speech.reordered |= !speech.marked.is_empty();
        draft.send(made);
    } else {
        draft.lose(speech.version, Lost::ProviderItem, Became::Nothing);
    }
}

/// Gives up reasoning whose item does not come.
fn forsake(draft: &mut Draft<'_>, speech: &mut Speech<'_>) {
    if speech.thought.take().is_some() {
        draft.lose(speech.version, Lost::Thinking, Became::Nothing);
    }
}

fn close<'a>(draft: &mut Draft<'a>, speech: &mut Speech<'a>) {
    if speech.message.is_empty() {
        return;
    }
    draft.items.push(Item::Message {
        role: "assistant",
        phase: speech.phase.clone(),
        content: Content::of_message(std::mem::take(&mut speech.message)),
    });
}

fn calls<'a>(
    draft: &mut Draft<'a>,
    turn: &'a Turn,
    mut thoughts: BTreeMap<usize, Option<Verbatim<'a>>>,
) {
    let is_adjacent = draft.options().call_outputs == CallOutputs::Adjacent;
    let mut outputs = Vec::with_capacity(turn.calls.len());
    for (index, call) in turn.calls.iter().enumerate() {
        if let Some(thought) = thoughts.remove(&index).flatten() {
            draft.think(thought, turn.version);
        }
        if call.called.signature.is_some() {
            draft.lose(call.version, Lost::CallSignature, Became::Nothing);
        }
        let call_id = draft.names.call_id(&call.called, call.version);
        let name = draft.names.tool_name(&call.called.tool_name);
        draft.items.push(Item::FunctionCall {
            call_id: call_id.clone(),
            name,
            arguments: call.called.input.as_str(),
        });
        let output = output(draft, call.version, &call.answer);
        outputs.push(Item::FunctionCallOutput { call_id, output });
        if is_adjacent {
            draft.items.append(&mut outputs);
        }
    }
    draft.items.append(&mut outputs);
    for _ in thoughts.into_values().flatten() {
        draft.lose(turn.version, Lost::Thinking, Became::Nothing);
    }
}

#[cfg(test)]
mod tests {
    use domain::event::Role::Assistant;

    use crate::openai_responses::testing::{Case, call, called, item, json, said, text};
    use crate::options::{CallOutputs, RenderOptions, Thoughts};

    use super::*;

    const R1: &str = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e1"}"#;
    const R2: &str = r#"{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"e2"}"#;
    const SEARCHED: &str = r#"{"type":"web_search_call","id":"ws_1","status":"completed"}"#;
    const HI: &str = r#"{"type":"message","role":"assistant","content":"Hi"}"#;
    const CALL_A: &str =
        r#"{"type":"function_call","call_id":"a","name":"search","arguments":"{\"q\": 1.0}"}"#;
    const CALL_B: &str =
        r#"{"type":"function_call","call_id":"b","name":"search","arguments":"[]"}"#;
    const OUTPUT_A: &str = r#"{"type":"function_call_output","call_id":"a","output":"1e400"}"#;
    const OUTPUT_B: &str = r#"{"type":"function_call_output","call_id":"b","output":"null"}"#;
    const NO_THOUGHT: &str = "lost 1 thinking nothing";
    const NO_ITEM: &str = "lost 1 provider_item nothing";

    #[test]
    fn calls_stand_together_and_their_outputs_follow_at_once() {
        check(vec![text("Hi")], &[HI, CALL_A, CALL_B, OUTPUT_A, OUTPUT_B]);
        check(vec![item(R1)], &[R1, CALL_A, CALL_B, OUTPUT_A, OUTPUT_B]);
    }

    #[test]
    fn outputs_stand_right_after_their_calls_where_that_is_asked_for() {
        let mark = |index| item(&format!(r#"{{"type":"function_call","index":{index}}}"#));
        let calls = vec![
            call("a", "{\"q\": 1.0}", json("1e400")),
            call("b", "[]", json("null")),
        ];
        let parts = vec![text("Hi"), item(R1), mark(0), item(R2), mark(1)];
        let case = Case {
            turns: vec![called(Assistant, parts, calls)],
            options: RenderOptions {
                call_outputs: CallOutputs::Adjacent,
                ..RenderOptions::default()
            },
            ..Case::default()
        };
        case.check(&[HI, R1, CALL_A, OUTPUT_A, R2, CALL_B, OUTPUT_B]);
    }

    #[test]
    fn reasoning_goes_with_the_item_after_it() {
        check_said(vec![item(R1), text("Hi")], &[R1, HI]);
        check_said(
            vec![item(R1), item(SEARCHED), item(R2), text("Hi")],
            &[R1, SEARCHED, R2, HI],
        );
        check_said(vec![text("Hi"), item(R1)], &[HI, NO_THOUGHT]);
        check_said(vec![item(R1), item(R2), text("Hi")], &[R2, HI, NO_THOUGHT]);
        let unknown = item(r#"{"type":"new_thing"}"#);
        check_said(
            vec![item(R1), unknown, text("Hi")],
            &[HI, NO_THOUGHT, NO_ITEM],
        );
    }

    #[test]
    fn items_go_with_the_reasoning_before_them() {
        let unsigned = r#"{"type":"reasoning","id":"rs_1","summary":[]}"#;
        let misnamed = r#"{"type":"reasoning","id":"x","encrypted_content":"e"}"#;
        for refused in [unsigned, misnamed] {
            check_said(vec![item(refused), text("Hi")], &[HI, NO_THOUGHT]);
            check_said(
                vec![item(refused), item(SEARCHED), text("Hi")],
                &[HI, NO_THOUGHT, NO_ITEM],
            );
        }
        let case = Case {
            turns: vec![said(Assistant, vec![item(R1), item(SEARCHED), text("Hi")])],
            options: RenderOptions {
                thoughts: Thoughts::Omit,
                ..RenderOptions::default()
            },
            ..Case::default()
        };
        case.check(&[HI, NO_THOUGHT, NO_ITEM]);
    }

    #[test]
    fn no_item_is_sent_twice() {
        let turn = said(Assistant, vec![item(R1), text("Hi")]);
        let again = said(Assistant, vec![item(R1), item(SEARCHED)]);
        Case::of(vec![turn, again]).check(&[
            R1,
            HI,
            "lost 2 thinking nothing",
            "lost 2 provider_item nothing",
        ]);
        let stored = item(r#"{"type":"item_reference","id":"msg_1"}"#);
        check_said(vec![stored, text("Hi")], &[HI, NO_ITEM]);
    }

    #[test]
    fn marks_keep_phases_and_the_places_of_calls() {
        let commentary = item(r#"{"type":"message","phase":"commentary"}"#);
        let phased = r#"{"type":"message","role":"assistant","phase":"commentary","content":"Hi"}"#;
        check_said(
            vec![commentary.clone(), text("Hi"), item(SEARCHED), text("Hi")],
            &[phased, SEARCHED, HI],
        );
        let (first, second) = (
            item(r#"{"type":"function_call","index":0}"#),
            item(r#"{"type":"function_call","index":1}"#),
        );
        check(
            vec![item(R1), first.clone(), item(R2), second],
            &[R1, CALL_A, R2, CALL_B, OUTPUT_A, OUTPUT_B],
        );
        check(
            vec![item(R1), first.clone(), item(R2), commentary, text("Hi")],
            &[
                R2,
                phased,
                R1,
                CALL_A,
                CALL_B,
                OUTPUT_A,
                OUTPUT_B,
                "lost 1 part_order other_form",
            ],
        );
        check_said(vec![item(R1), first, text("Hi")], &[HI, NO_THOUGHT]);
    }

    #[test]
    fn a_calls_signature_is_lost() {
        let mut signed = call("a", "{\"q\": 1.0}", json("1e400"));
        signed.called.signature = Some("s".to_owned());
        Case::of(vec![called(Assistant, vec![], vec![signed])]).check(&[
            CALL_A,
            OUTPUT_A,
            "lost 9 call_signature nothing",
        ]);
    }

    fn check_said(parts: Vec<Part>, expected: &[&str]) {
        Case::of(vec![said(Assistant, parts)]).check(expected);
    }

    fn check(parts: Vec<Part>, expected: &[&str]) {
        let calls = vec![
            call("a", "{\"q\": 1.0}", json("1e400")),
            call("b", "[]", json("null")),
        ];
        Case::of(vec![called(Assistant, parts, calls)]).check(expected);
    }
}
