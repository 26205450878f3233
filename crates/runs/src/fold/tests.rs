//! Examples of folded runs, and bounds.

use domain::event::{ErrorOccurred, ToolCalled, ToolOutcome, ToolOutput, ToolReturned, UsageSource};
use domain::{CallId, JsonText, Lifecycle, Part, RunId, RunOutcome, ToolName};
use uuid::Uuid;

use super::*;

fn fold() -> RunFold {
    RunFold::new(RunStarted { run: RunId(Uuid::from_u128(1)), model: Label::parse("m").ok(), provider: None })
}

/// Folds the kinds, numbered from 1. Returns the first error.
fn folded(kinds: Vec<RunPartKind>) -> Result<RunFold, FoldError> {
    let mut fold = fold();
    for (number, kind) in (1..).zip(kinds) {
        fold.absorb(&RunPart { number, kind })?;
    }
    Ok(fold)
}

fn text(bytes: usize) -> RunPartKind {
    RunPartKind::TextDelta("x".repeat(bytes))
}

fn thought() -> RunPartKind {
    RunPartKind::ThinkingDelta("t".to_owned())
}

fn began(index: u32) -> RunPartKind {
    RunPartKind::CallBegan { index, call_id: CallId::parse("c").unwrap(), tool_name: ToolName::parse("t").unwrap() }
}

fn input(index: u32, bytes: usize) -> RunPartKind {
    RunPartKind::CallInput { index, fragment: "1".repeat(bytes) }
}

fn returned(bytes: usize) -> ToolReturned {
    ToolReturned {
        call_id: CallId::parse("c").unwrap(),
        tool_name: None,
        output: ToolOutput::Parts(vec![Part::Text("y".repeat(bytes))]),
        outcome: ToolOutcome::Succeeded,
    }
}

fn message(parts: Vec<Part>, finish_reason: &str) -> Fact {
    Fact::MessageAppended(MessageAppended {
        role: Role::Assistant,
        parts,
        author: None,
        model: Label::parse("m").ok(),
        provider: None,
        provider_response_id: None,
        finish_reason: Label::parse(finish_reason).ok(),
        usage: None,
        usage_source: UsageSource::Reported,
    })
}

fn called() -> Fact {
    Fact::ToolCalled(ToolCalled {
        call_id: CallId::parse("c").unwrap(),
        tool_name: ToolName::parse("t").unwrap(),
        input: JsonText::parse("{}").unwrap(),
        model: None,
        provider: None,
        provider_response_id: None,
        signature: None,
    })
}

fn end(error: Option<ErrorOccurred>) -> RunPartKind {
    RunPartKind::RunEnded(RunEnd { outcome: RunOutcome::Stopped, error })
}

#[test]
fn steps_results_and_the_unfinished_step_in_order() {
    let error = ErrorOccurred { error_type: Label::parse("model_timed_out").unwrap(), message: "60 s".to_owned() };
    let step = vec![message(vec![Part::Text("xx".to_owned())], "stop"), called()];
    let run = folded(vec![
        text(2),
        began(0),
        input(0, 2),
        RunPartKind::StepFinished(step.clone()),
        RunPartKind::ToolReturned(returned(1)),
        thought(),
        RunPartKind::KeptAlive,
        thought(),
        text(1),
        began(0),
        input(0, 1),
        end(Some(error.clone())),
    ])
    .unwrap();
    let thinking = Part::Thinking { text: "tt".to_owned(), signature: None };
    let cut_off = message(vec![thinking, Part::Text("x".to_owned())], INTERRUPTED);
    let rest = [Fact::ToolReturned(returned(1)), cut_off, Fact::from(error)];
    let expected: Vec<Fact> = step.into_iter().chain(rest).collect();
    assert_eq!(run.facts(), expected);
    assert_eq!(run.next_number(), 13);
    assert_eq!(run.open_step(), None);
}

#[test]
fn a_run_without_text_has_no_facts() {
    let run = folded(vec![RunPartKind::KeptAlive, began(0), input(0, 5), end(None)]).unwrap();
    assert_eq!(run.facts(), Vec::new());
}

fn check(kinds: Vec<RunPartKind>, expected: Result<(), FoldError>) {
    assert_eq!(folded(kinds).map(drop), expected);
}

#[test]
fn invalid_parts_are_rejected() {
    let malformed = |number, rule| Err(FoldError::Malformed { number, rule });
    let after_end = Err(FoldError::AfterEnd { number: 2 });
    check(vec![end(None), text(1)], after_end);
    check(vec![end(None), end(None)], after_end);
    let twice = malformed(2, "starts a call that the step already has");
    check(vec![began(0), began(0)], twice);
    let finished = |facts| RunPartKind::StepFinished(facts);
    check(vec![began(0), finished(vec![]), began(0)], Ok(()));
    let not_started = malformed(2, "continues a call that was not started");
    check(vec![began(0), input(1, 1)], not_started);
    let rule = "finishes a step with facts other than assistant messages and calls";
    let erased = finished(vec![Fact::Lifecycle(Lifecycle::ConversationErased)]);
    check(vec![erased], malformed(1, rule));
}

#[test]
fn gaps_are_rejected_and_duplicates_ignored() {
    let mut fold = fold();
    let part = |number| RunPart { number, kind: text(1) };
    fold.absorb(&part(1)).unwrap();
    let before = fold.clone();
    let gap = FoldError::Gap { expected: 2, found: 3 };
    assert_eq!(fold.absorb(&part(3)), Err(gap));
    let kind = input(0, 1);
    assert!(fold.absorb(&RunPart { number: 2, kind }).is_err());
    assert_eq!(fold.absorb(&part(1)), Ok(()));
    assert_eq!(fold, before);
}

#[test]
fn bounds_at_their_edge_and_one_past() {
    let too_large = |number, what, most| Err(FoldError::TooLarge { number, what, most });
    check(vec![text(STEP_WORDS_BYTES_MAX)], Ok(()));
    let too_long = too_large(2, "the step's bytes", STEP_WORDS_BYTES_MAX);
    check(vec![text(STEP_WORDS_BYTES_MAX), text(1)], too_long);
    let pieces = |count: usize| [thought(), text(1)].into_iter().cycle().take(count);
    check(pieces(STEP_PIECES_MAX).chain([text(1)]).collect(), Ok(()));
    let too_many = too_large(1_001, "the step's pieces", STEP_PIECES_MAX);
    check(pieces(STEP_PIECES_MAX + 1).collect(), too_many);
    let calls = pieces(STEP_PIECES_MAX).chain([began(0)]);
    check(calls.collect(), too_many);
    let results = |count| vec![RunPartKind::ToolReturned(returned(0)); count];
    check(results(RUN_FACTS_MAX), Ok(()));
    let too_many = too_large(498, "events", RUN_FACTS_MAX);
    check(results(RUN_FACTS_MAX + 1), too_many);
    let large = RunPartKind::ToolReturned(returned(RUN_BYTES_MAX - 1));
    check(vec![large.clone(), text(1), end(None)], Ok(()));
    let too_many = |number| too_large(number, "bytes", RUN_BYTES_MAX);
    check(vec![large.clone(), text(2)], too_many(2));
    check(vec![large, began(0), input(0, 2)], too_many(3));
}

#[test]
fn a_full_run_has_room_for_its_end() {
    let mut kinds = vec![RunPartKind::ToolReturned(returned(0)); RUN_FACTS_MAX];
    let error = ErrorOccurred { error_type: Label::parse("run_too_large").unwrap(), message: String::new() };
    kinds.extend([text(1), end(Some(error))]);
    assert_eq!(folded(kinds).unwrap().facts().len(), RUN_EVENTS_MAX);
}
