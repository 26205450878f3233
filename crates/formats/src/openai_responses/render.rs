//! Renders a transcript as `instructions`, `prompt_cache_key` and `input`.

use context::{Transcript, Turn};
use domain::Part;
use domain::event::Role;

use crate::loss::LostContent;
use crate::options::RenderOptions;
use crate::outline::{Layout, Section};
use crate::rendered::Rendered;

use super::assistant::assistant;
use super::body::{Body, Content, ContentPart, Item};
use super::content::{Target, content_part};
use super::draft::Draft;
use super::own_item::{OwnItem, classify, own_part};

/// The user message of an empty context, because the provider rejects an empty list.
pub const EMPTY_INPUT: &str = "(The conversation is empty.)";
/// The separator of instructions.
const SECTION_BREAK: &str = "\n\n";
const LAYOUT: Layout = Layout { list: "input", parts: None, fields: &[("instructions", Section::Instructions)] };
/// Maximum characters of an output (R5).
const OUTPUT_CHARS_MAX: usize = 10_485_760;

// An output is part of one event, so it is never too long, even if each of its bytes is escaped.
const _: () = assert!(domain::bounds::EVENT_BYTES_MAX * 6 < OUTPUT_CHARS_MAX);

/// Renders the transcript.
///
/// Instructions within the conversation have the role of the options, because a request must not mix both roles (O6).
#[must_use]
pub fn render(transcript: &Transcript, options: &RenderOptions) -> Rendered {
    let mut draft = Draft::new(transcript, options);
    let (leading, turns) = split(&transcript.turns);
    let instructions = instructions(&mut draft, &transcript.instructions, leading);
    let opening = transcript.opening.as_deref();
    draft.items.extend(opening.map(Item::user_text));
    draft.end_section(Section::Opening);
    for turn in turns {
        draft.notes.omit_author(turn);
        if turn.role != Role::Assistant {
            draft.drop_reasoning();
        }
        match turn.role {
            Role::Assistant => assistant(&mut draft, turn),
            Role::User => push_message(&mut draft, turn, "user", Target::Input),
            Role::System | Role::Developer => {
                let role = options.instructions_role.as_str();
                push_message(&mut draft, turn, role, Target::Instructions);
            }
        }
        draft.end_section(Section::Turn(turn.version));
    }
    draft.drop_reasoning();
    let closing = transcript.closing.as_deref();
    draft.items.extend(closing.map(Item::user_text));
    draft.end_section(Section::Closing);
    if draft.items.is_empty() {
        draft.items.push(Item::user_text(EMPTY_INPUT));
    }
    let body = Body { instructions, prompt_cache_key: options.prompt_cache_key(), input: draft.items };
    // Reasoning is dropped when a later turn shows that it has no item.
    draft.notes.sort_losses();
    draft.notes.rendered(&body, &LAYOUT)
}

/// Splits off the leading turns that join the instructions: instructions that contain only text.
fn split(turns: &[Turn]) -> (&[Turn], &[Turn]) {
    let joins = |turn: &Turn| {
        let instructs = matches!(turn.role, Role::System | Role::Developer);
        instructs && turn.parts.iter().all(|part| matches!(part, Part::Text(_)))
    };
    let first = turns.iter().position(|turn| !joins(turn));
    turns.split_at(first.unwrap_or(turns.len()))
}

/// All instructions before the conversation. Every request contains them (R7).
fn instructions(draft: &mut Draft<'_>, given: &[String], leading: &[Turn]) -> Option<String> {
    let mut sections: Vec<&str> = given.iter().map(String::as_str).collect();
    for turn in leading {
        draft.notes.omit_author(turn);
        for part in &turn.parts {
            if let Part::Text(text) = part
                && !text.trim().is_empty()
            {
                sections.push(text);
            }
        }
    }
    (!sections.is_empty()).then(|| sections.join(SECTION_BREAK))
}

/// Renders a user turn, or instructions within the conversation. Empty parts and empty messages are omitted.
fn push_message<'a>(draft: &mut Draft<'a>, turn: &'a Turn, role: &'static str, target: Target) {
    let mut parts = Vec::new();
    for part in &turn.parts {
        match own_part(part).map(classify) {
            Some(OwnItem::Answer(answer)) if target == Target::Input => {
                close(draft, role, &mut parts);
                draft.answer(answer, turn.version);
            }
            Some(OwnItem::Reasoning(_)) => {
                draft.notes.omit(turn.version, LostContent::Thinking);
            }
            Some(OwnItem::MessageMark { .. }) => {}
            Some(OwnItem::CallMark { .. } | OwnItem::Model(_) | OwnItem::Answer(_) | OwnItem::Other) | None => {
                parts.extend(content_part(draft, turn.version, part, target));
            }
        }
    }
    close(draft, role, &mut parts);
}

fn close<'a>(draft: &mut Draft<'a>, role: &'static str, parts: &mut Vec<ContentPart<'a>>) {
    if !parts.is_empty() {
        draft.items.push(Item::Message { role, phase: None, content: Content::from_parts(std::mem::take(parts)) });
    }
}

#[cfg(test)]
mod tests {
    use domain::event::Role::{Assistant, Developer, System, User};

    use crate::options::{CACHE_KEY_CHARS_MAX, InstructionsRole};
    use crate::tests::openai_responses::{Case, item, label, message_turn, text};

    use super::*;

    #[test]
    fn instructions_are_separate_and_in_every_request() {
        let case = Case {
            instructions: vec!["Be brief.".to_owned(), "Be kind.".to_owned()],
            turns: vec![
                message_turn(System, vec![text("Answer in French."), text(" ")]),
                message_turn(Developer, vec![text("No lists.")]),
                message_turn(User, vec![text("Hi")]),
                message_turn(System, vec![text("Now in German.")]),
            ],
            ..Case::default()
        };
        let leading = "Be brief.\\n\\nBe kind.\\n\\nAnswer in French.\\n\\nNo lists.";
        let leading = format!("instructions \"{leading}\"");
        case.check(&[
            &leading,
            r#"{"type":"message","role":"user","content":"Hi"}"#,
            r#"{"type":"message","role":"system","content":"Now in German."}"#,
        ]);
    }

    #[test]
    fn one_request_has_one_role_of_instructions() {
        let case = Case {
            turns: vec![
                message_turn(User, vec![text("Hi")]),
                message_turn(System, vec![text("a")]),
                message_turn(Developer, vec![text("b")]),
            ],
            options: RenderOptions { instructions_role: InstructionsRole::Developer, ..RenderOptions::default() },
            ..Case::default()
        };
        case.check(&[
            r#"{"type":"message","role":"user","content":"Hi"}"#,
            r#"{"type":"message","role":"developer","content":"a"}"#,
            r#"{"type":"message","role":"developer","content":"b"}"#,
        ]);
    }

    #[test]
    fn opening_and_closing_are_user_messages() {
        let case = Case {
            opening: Some("Before: a greeting.".to_owned()),
            turns: vec![message_turn(Assistant, vec![text("Hi")])],
            closing: Some("It is noon.".to_owned()),
            ..Case::default()
        };
        case.check(&[
            r#"{"type":"message","role":"user","content":"Before: a greeting."}"#,
            r#"{"type":"message","role":"assistant","content":"Hi"}"#,
            r#"{"type":"message","role":"user","content":"It is noon."}"#,
        ]);
    }

    #[test]
    fn an_empty_list_is_never_sent() {
        let empty = r#"{"type":"message","role":"user","content":"(The conversation is empty.)"}"#;
        Case::default().check(&[empty]);
        let turns = vec![message_turn(User, vec![text("")]), message_turn(Assistant, vec![])];
        Case::of(turns).check(&[empty]);
    }

    #[test]
    fn cache_keys_at_their_bound() {
        let keyed = |key: &str| Case {
            turns: vec![message_turn(User, vec![text("Hi")])],
            options: RenderOptions { cache_key: Some(key.to_owned()), ..RenderOptions::default() },
            ..Case::default()
        };
        let message = r#"{"type":"message","role":"user","content":"Hi"}"#;
        let longest = "k".repeat(CACHE_KEY_CHARS_MAX);
        keyed(&longest).check(&[&format!("prompt_cache_key \"{longest}\""), message]);
        let digest = "f39cdc2584758c99cf81c1f41d2572f54e17066afffc9d187aeafe5f7cbe2122";
        keyed(&format!("{longest}k")).check(&[&format!("prompt_cache_key \"{digest}\""), message]);
        keyed("").check(&[message]);
    }

    #[test]
    fn items_that_the_client_answers_are_rendered_with_their_answer() {
        let asked = r#"{"type":"custom_tool_call","id":"ctc_1","call_id":"c","name":"p","input":"x"}"#;
        let answer = r#"{"type":"custom_tool_call_output","call_id":"c","output":"y"}"#;
        let turns = vec![message_turn(Assistant, vec![item(asked)])];
        Case::of(turns.clone()).check(&[
            r#"{"type":"message","role":"user","content":"(The conversation is empty.)"}"#,
            "lost 1 provider_item nothing",
        ]);
        let answered = vec![turns[0].clone(), message_turn(User, vec![text("so"), item(answer)])];
        Case::of(answered).check(&[asked, r#"{"type":"message","role":"user","content":"so"}"#, answer]);
        Case::of(vec![message_turn(User, vec![text("so"), item(answer)])])
            .check(&[r#"{"type":"message","role":"user","content":"so"}"#, "lost 1 provider_item nothing"]);
    }

    #[test]
    fn a_user_has_no_name_and_does_not_reason() {
        let reasoning = r#"{"type":"reasoning","id":"rs_1","encrypted_content":"e"}"#;
        let mut turn = message_turn(User, vec![item(reasoning), text("Hi")]);
        turn.author = Some(label("Ann"));
        Case::of(vec![turn]).check(&[
            r#"{"type":"message","role":"user","content":"Hi"}"#,
            "lost 1 author nothing",
            "lost 1 thinking nothing",
        ]);
    }
}
