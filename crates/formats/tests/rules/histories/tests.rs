//! Random transcripts contain the cases that fail in practice. Otherwise the properties would check nothing.

use std::collections::BTreeSet;

use domain::MediaSource;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::*;

/// The number of transcripts in which each case must occur.
const TRANSCRIPTS: usize = 1_000;

#[test]
fn whole_transcripts() {
    check("no turns", |it| it.turns.is_empty());
    check("an opening and a closing", |it| it.opening.is_some() && it.closing.is_some());
    check("the assistant first", |it| it.turns.first().is_some_and(is_assistant));
    check("the assistant last", |it| it.turns.last().is_some_and(is_assistant));
    check("two turns of the assistant", |it| pairs(it, |a, b| is_assistant(a) && is_assistant(b)));
    check("instructions first", |it| it.turns.first().is_some_and(|turn| turn.role == Role::System));
    check("instructions in the middle", |it| pairs(it, |a, b| a.role == Role::User && b.role == Role::Developer));
    check("thoughts after a turn without", |it| {
        pairs(it, |a, b| {
            is_assistant(a) && !a.parts.is_empty() && !a.parts.iter().any(is_signed) && b.parts.iter().any(is_signed)
        })
    });
    check("a call's id used again", |it| {
        let ids: Vec<&str> = calls(it).map(|call| call.called.call_id.as_str()).collect();
        ids.len() > BTreeSet::from_iter(&ids).len()
    });
}

#[test]
fn turns() {
    check("parallel calls", |it| it.turns.iter().any(|turn| turn.calls.len() == CALLS_MAX));
    check("calls without a message", |it| it.turns.iter().any(|turn| turn.parts.is_empty() && !turn.calls.is_empty()));
    check("nothing at all", |it| it.turns.iter().any(|turn| turn.parts.is_empty() && turn.calls.is_empty()));
    check("thoughts with calls", |it| {
        it.turns.iter().any(|turn| turn.parts.iter().any(is_signed) && !turn.calls.is_empty())
    });
    check("thoughts alone", |it| {
        it.turns.iter().any(|turn| turn.calls.is_empty() && !turn.parts.is_empty() && turn.parts.iter().all(is_signed))
    });
}

#[test]
fn parts_of_every_kind() {
    check_parts("a blank text", |part| matches!(part, Part::Text(text) if text == " "));
    check_parts("U+0000", |part| matches!(part, Part::Text(text) if text.contains('\0')));
    check_parts("a huge text", |part| matches!(part, Part::Text(text) if text.len() > 10_000));
    check_parts("a refusal", |part| matches!(part, Part::Refusal(_)));
    check_parts("a thought without a signature", |part| matches!(part, Part::Thinking { signature: None, .. }));
    check_parts("an encrypted thought", |part| matches!(part, Part::RedactedThinking(_)));
    check_parts("an item", |part| matches!(part, Part::ProviderItem { .. }));
    check_parts("a file of the provider's", |part| matches!(part, Part::File { source: MediaSource::FileId(_), .. }));
    check_parts(
        "a long text that comes along",
        |part| matches!(part, Part::File { source: MediaSource::Url(url), .. } if url.len() > 30_000),
    );
    check_parts(
        "a picture that comes along",
        |part| matches!(part, Part::Image { source: MediaSource::Url(url), .. } if url.starts_with("data:image")),
    );
}

#[test]
fn calls_and_answers() {
    check_calls("a foreign id", |call| call.called.call_id.as_str().contains('/'));
    check_calls("the longest id", |call| call.called.call_id.as_str().len() == 256);
    check_calls("a foreign name", |call| call.called.tool_name.as_str() == "mcp.files/read");
    check_calls("an input that is no object", |call| call.called.input.as_str() == "[1,2]");
    check_calls("a number past every type", |call| call.called.input.as_str().contains("1e400"));
    check_calls("a deep input", |call| call.called.input.as_str().contains("[[[["));
    check_calls("a signed call", |call| call.called.signature.is_some());
    check_calls("a failure", |call| call.answer.outcome == ToolOutcome::Failed);
    check_calls("a call that waits", |call| call.answer.origin == AnswerOrigin::Pending);
    check_calls("an interrupted call", |call| call.answer.origin == AnswerOrigin::Interrupted);
    check_calls("a cleared result", |call| matches!(call.answer.origin, AnswerOrigin::Cleared(_)));
    check_calls("an answer of no parts", |call| call.answer.output == ToolOutput::Parts(Vec::new()));
}

fn check(what: &str, is_it: impl Fn(&Transcript) -> bool) {
    let mut runner = TestRunner::deterministic();
    let strategy = transcripts(Some("anthropic"));
    let mut drawn = (0..TRANSCRIPTS).map(|_| strategy.new_tree(&mut runner).unwrap().current());
    assert!(drawn.any(|transcript| is_it(&transcript)), "never: {what}");
}

fn check_parts(what: &str, is_it: impl Fn(&Part) -> bool) {
    check(what, |it| it.turns.iter().flat_map(|turn| &turn.parts).any(&is_it));
}

fn check_calls(what: &str, is_it: impl Fn(&AnsweredCall) -> bool) {
    check(what, |it| calls(it).any(&is_it));
}

fn calls(transcript: &Transcript) -> impl Iterator<Item = &AnsweredCall> {
    transcript.turns.iter().flat_map(|turn| &turn.calls)
}

fn pairs(transcript: &Transcript, is_it: impl Fn(&Turn, &Turn) -> bool) -> bool {
    transcript.turns.windows(2).any(|pair| is_it(&pair[0], &pair[1]))
}

fn is_assistant(turn: &Turn) -> bool {
    turn.role == Role::Assistant
}

fn is_signed(part: &Part) -> bool {
    matches!(part, Part::Thinking { signature: Some(signature), .. } if !signature.is_empty())
}
