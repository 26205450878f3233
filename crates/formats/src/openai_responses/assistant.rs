//! Renders an assistant turn: its messages and items, then its calls, then their outputs.

use std::collections::BTreeMap;

use context::Turn;
use domain::{Part, Version};

use crate::loss::LostContent;
use crate::options::CallOutputs;

use super::body::{Content, ContentPart, Item};
use super::content::{Target, content_part, output};
use super::draft::Draft;
use super::own_item::{OwnItem, Verbatim, classify, own_part};

/// The reasoning of calls, with its turn, by the index of the call.
type CallThoughts<'a> = BTreeMap<usize, Option<(Verbatim<'a>, Version)>>;

/// A turn while it is rendered.
#[derive(Default)]
struct OpenTurn<'a> {
    version: Version,
    /// The phase of the open message, or of the next one (R7).
    phase: Option<String>,
    /// The open message.
    message: Vec<ContentPart<'a>>,
    /// The reasoning before each marked call.
    marked: CallThoughts<'a>,
    /// Whether content after a call was rendered before it.
    reordered: bool,
}

/// Renders the turn. Calls and their outputs are at its end, or each output directly follows its call if the options say so
/// (R1, R2). Each call follows its reasoning (R3). Reasoning at the end of a turn without calls waits for the next turn.
pub(super) fn assistant<'a>(draft: &mut Draft<'a>, turn: &'a Turn) {
    let mut open = OpenTurn { version: turn.version, ..OpenTurn::default() };
    for part in &turn.parts {
        match own_part(part).map(classify) {
            Some(own) => item(draft, &mut open, own),
            None => push_part(draft, &mut open, part),
        }
    }
    close(draft, &mut open);
    if open.reordered && !turn.calls.is_empty() {
        draft.notes.change_form(turn.version, LostContent::PartOrder);
    }
    if open.marked.is_empty() && !turn.calls.is_empty() {
        open.marked.insert(0, draft.take_reasoning());
    }
    if !turn.calls.is_empty() {
        draft.drop_reasoning();
    }
    calls(draft, turn, open.marked);
}

fn push_part<'a>(draft: &mut Draft<'a>, open: &mut OpenTurn<'a>, part: &'a Part) {
    let Some(part) = content_part(draft, open.version, part, Target::Output) else {
        return;
    };
    if open.message.is_empty()
        && let Some(thought) = draft.take_reasoning()
    {
        draft.push_reasoning(thought);
    }
    open.reordered |= !open.marked.is_empty();
    open.message.push(part);
}

fn item<'a>(draft: &mut Draft<'a>, open: &mut OpenTurn<'a>, own: OwnItem<'a>) {
    close(draft, open);
    match own {
        OwnItem::MessageMark { phase } => {
            open.phase = phase;
            return;
        }
        OwnItem::CallMark { index } => {
            open.marked.insert(index, draft.take_reasoning());
        }
        OwnItem::Reasoning(thought) => draft.keep_reasoning(thought, open.version),
        OwnItem::Model(made) => model_item(draft, open, made),
        OwnItem::Answer(answer) => {
            draft.drop_reasoning();
            draft.answer(answer, open.version);
        }
        OwnItem::Other => {
            draft.drop_reasoning();
            draft.notes.omit(open.version, LostContent::ProviderItem);
        }
    }
    open.phase = None;
}

/// Renders another item of the model with its reasoning. If one of them cannot be sent, neither is (R3).
fn model_item<'a>(draft: &mut Draft<'a>, open: &mut OpenTurn<'a>, made: Verbatim<'a>) {
    let can_send = draft.can_send(&made);
    let thought_sent = match draft.take_reasoning() {
        Some(thought) if can_send => draft.push_reasoning(thought),
        Some((_, version)) => {
            draft.notes.omit(version, LostContent::Thinking);
            false
        }
        None => true,
    };
    if can_send && thought_sent {
        open.reordered |= !open.marked.is_empty();
        draft.send(made);
    } else {
        draft.notes.omit(open.version, LostContent::ProviderItem);
    }
}

fn close<'a>(draft: &mut Draft<'a>, open: &mut OpenTurn<'a>) {
    if open.message.is_empty() {
        return;
    }
    draft.items.push(Item::Message {
        role: "assistant",
        phase: open.phase.clone(),
        content: Content::from_parts(std::mem::take(&mut open.message)),
    });
}

fn calls<'a>(draft: &mut Draft<'a>, turn: &'a Turn, mut thoughts: CallThoughts<'a>) {
    let is_adjacent = draft.options.call_outputs == CallOutputs::Adjacent;
    let mut outputs = Vec::with_capacity(turn.calls.len());
    for (index, call) in turn.calls.iter().enumerate() {
        if let Some(thought) = thoughts.remove(&index).flatten() {
            draft.push_reasoning(thought);
        }
        draft.notes.omit_signature(call);
        let call_id = draft.notes.names.call_id(&call.called, call.version);
        let name = draft.notes.names.tool_name(&call.called.tool_name);
        draft.items.push(Item::FunctionCall { call_id: call_id.clone(), name, arguments: call.called.input.as_str() });
        let output = output(draft, call.version, &call.answer);
        outputs.push(Item::FunctionCallOutput { call_id, output });
        if is_adjacent {
            draft.items.append(&mut outputs);
        }
    }
    draft.items.append(&mut outputs);
    for (_, version) in thoughts.into_values().flatten() {
        draft.notes.omit(version, LostContent::Thinking);
    }
}

#[cfg(test)]
mod tests {
    use domain::event::Role::Assistant;

    use crate::options::{CallOutputs, RenderOptions, Thoughts};
    use crate::tests::openai_responses::{Case, call, called, item, json, message_turn, text};

    use super::*;

    const R1: &str = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e1"}"#;
    const R2: &str = r#"{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"e2"}"#;
    const SEARCHED: &str = r#"{"type":"web_search_call","id":"ws_1","status":"completed"}"#;
    const HI: &str = r#"{"type":"message","role":"assistant","content":"Hi"}"#;
    const CALL_A: &str = r#"{"type":"function_call","call_id":"a","name":"search","arguments":"{\"q\": 1.0}"}"#;
    const CALL_B: &str = r#"{"type":"function_call","call_id":"b","name":"search","arguments":"[]"}"#;
    const OUTPUT_A: &str = r#"{"type":"function_call_output","call_id":"a","output":"1e400"}"#;
    const OUTPUT_B: &str = r#"{"type":"function_call_output","call_id":"b","output":"null"}"#;
    const NO_THOUGHT: &str = "lost 1 thinking nothing";
    const NO_ITEM: &str = "lost 1 provider_item nothing";

    #[test]
    fn calls_are_together_and_their_outputs_follow_directly() {
        check(vec![text("Hi")], &[HI, CALL_A, CALL_B, OUTPUT_A, OUTPUT_B]);
        check(vec![item(R1)], &[R1, CALL_A, CALL_B, OUTPUT_A, OUTPUT_B]);
    }

    #[test]
    fn outputs_can_directly_follow_their_calls() {
        let mark = |index| item(&format!(r#"{{"type":"function_call","index":{index}}}"#));
        let calls = vec![call("a", "{\"q\": 1.0}", json("1e400")), call("b", "[]", json("null"))];
        let parts = vec![text("Hi"), item(R1), mark(0), item(R2), mark(1)];
        let case = Case {
            turns: vec![called(Assistant, parts, calls)],
            options: RenderOptions { call_outputs: CallOutputs::Adjacent, ..RenderOptions::default() },
            ..Case::default()
        };
        case.check(&[HI, R1, CALL_A, OUTPUT_A, R2, CALL_B, OUTPUT_B]);
    }

    #[test]
    fn reasoning_is_rendered_with_the_item_after_it() {
        check_turn(vec![item(R1), text("Hi")], &[R1, HI]);
        check_turn(vec![item(R1), item(SEARCHED), item(R2), text("Hi")], &[R1, SEARCHED, R2, HI]);
        check_turn(vec![text("Hi"), item(R1)], &[HI, NO_THOUGHT]);
        check_turn(vec![item(R1), item(R2), text("Hi")], &[R2, HI, NO_THOUGHT]);
        let unknown = item(r#"{"type":"new_thing"}"#);
        check_turn(vec![item(R1), unknown, text("Hi")], &[HI, NO_THOUGHT, NO_ITEM]);
    }

    #[test]
    fn reasoning_is_rendered_with_the_item_of_the_next_turn() {
        let turn = |role, parts| message_turn(role, parts);
        let alone = || turn(Assistant, vec![item(R1)]);
        let answer = || turn(Assistant, vec![text("Hi")]);
        Case::of(vec![alone(), answer()]).check(&[R1, HI]);
        let searched = turn(Assistant, vec![item(SEARCHED)]);
        Case::of(vec![alone(), searched]).check(&[R1, SEARCHED]);
        let calls = vec![call("a", "{\"q\": 1.0}", json("1e400"))];
        let calling = called(Assistant, vec![], calls);
        Case::of(vec![alone(), calling]).check(&[R1, CALL_A, OUTPUT_A]);
        let again = turn(Assistant, vec![item(R2), text("Hi")]);
        Case::of(vec![alone(), again]).check(&[R2, HI, NO_THOUGHT]);
        let user = r#"{"type":"message","role":"user","content":"Hi"}"#;
        let asked = || turn(domain::event::Role::User, vec![text("Hi")]);
        Case::of(vec![alone(), asked(), answer()]).check(&[user, HI, NO_THOUGHT]);
        Case::of(vec![asked(), alone()]).check(&[user, "lost 2 thinking nothing"]);
    }

    #[test]
    fn items_are_rendered_with_the_reasoning_before_them() {
        let unsigned = r#"{"type":"reasoning","id":"rs_1","summary":[]}"#;
        let misnamed = r#"{"type":"reasoning","id":"x","encrypted_content":"e"}"#;
        for refused in [unsigned, misnamed] {
            check_turn(vec![item(refused), text("Hi")], &[HI, NO_THOUGHT]);
            check_turn(vec![item(refused), item(SEARCHED), text("Hi")], &[HI, NO_THOUGHT, NO_ITEM]);
        }
        let case = Case {
            turns: vec![message_turn(Assistant, vec![item(R1), item(SEARCHED), text("Hi")])],
            options: RenderOptions { thoughts: Thoughts::Omit, ..RenderOptions::default() },
            ..Case::default()
        };
        case.check(&[HI, NO_THOUGHT, NO_ITEM]);
    }

    #[test]
    fn no_item_is_sent_twice() {
        let turn = message_turn(Assistant, vec![item(R1), text("Hi")]);
        let again = message_turn(Assistant, vec![item(R1), item(SEARCHED)]);
        Case::of(vec![turn, again]).check(&[R1, HI, "lost 2 thinking nothing", "lost 2 provider_item nothing"]);
        let stored = item(r#"{"type":"item_reference","id":"msg_1"}"#);
        check_turn(vec![stored, text("Hi")], &[HI, NO_ITEM]);
    }

    #[test]
    fn marks_keep_phases_and_positions_of_calls() {
        let commentary = item(r#"{"type":"message","phase":"commentary"}"#);
        let phased = r#"{"type":"message","role":"assistant","phase":"commentary","content":"Hi"}"#;
        check_turn(vec![commentary.clone(), text("Hi"), item(SEARCHED), text("Hi")], &[phased, SEARCHED, HI]);
        let (first, second) =
            (item(r#"{"type":"function_call","index":0}"#), item(r#"{"type":"function_call","index":1}"#));
        check(vec![item(R1), first.clone(), item(R2), second], &[R1, CALL_A, R2, CALL_B, OUTPUT_A, OUTPUT_B]);
        check(
            vec![item(R1), first.clone(), item(R2), commentary, text("Hi")],
            &[R2, phased, R1, CALL_A, CALL_B, OUTPUT_A, OUTPUT_B, "lost 1 part_order other_form"],
        );
        check_turn(vec![item(R1), first, text("Hi")], &[HI, NO_THOUGHT]);
    }

    #[test]
    fn the_signature_of_a_call_is_lost() {
        let mut signed = call("a", "{\"q\": 1.0}", json("1e400"));
        signed.called.signature = Some("s".to_owned());
        Case::of(vec![called(Assistant, vec![], vec![signed])]).check(&[
            CALL_A,
            OUTPUT_A,
            "lost 9 call_signature nothing",
        ]);
    }

    fn check_turn(parts: Vec<Part>, expected: &[&str]) {
        Case::of(vec![message_turn(Assistant, parts)]).check(expected);
    }

    fn check(parts: Vec<Part>, expected: &[&str]) {
        let calls = vec![call("a", "{\"q\": 1.0}", json("1e400")), call("b", "[]", json("null"))];
        Case::of(vec![called(Assistant, parts, calls)]).check(expected);
    }
}
