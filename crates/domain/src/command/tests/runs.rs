//! Runs, from their start to their end; at most one is active.

use super::*;
use crate::bounds::{EVENTS_PER_COMMIT_MAX, RUN_EVENTS_MAX};
use crate::event::{RunFinished, RunStarted};
use crate::part::{RunEnd, RunPart, RunPartKind};
use crate::run::{ActiveRun, RunOutcome, RunPhase};

fn run(n: u128) -> RunId {
    RunId(Uuid::from_u128(n))
}

fn new_events(facts: impl IntoIterator<Item = Fact>) -> Vec<NewEvent> {
    let Action::Append { events, .. } = append(facts) else { panic!("another command") };
    events
}

fn started(n: u128, facts: impl IntoIterator<Item = Fact>) -> Action {
    Action::StartRun(Box::new(StartRun {
        started: RunStarted { run: run(n), model: None, provider: None },
        events: new_events(facts),
    }))
}

fn stopped(n: u128) -> Action {
    Action::StopRun(run(n))
}

fn finished(n: u128, facts: impl IntoIterator<Item = Fact>) -> Action {
    Action::FinishRun(Box::new(FinishRun {
        finished: RunFinished { run: run(n), outcome: RunOutcome::Completed },
        events: new_events(facts),
    }))
}

fn running() -> Vec<Action> {
    vec![created(), started(1, [said("q")])]
}

fn stopping() -> Vec<Action> {
    let mut actions = running();
    actions.push(stopped(1));
    actions
}

fn then(mut actions: Vec<Action>, next: Action) -> Vec<Action> {
    actions.push(next);
    actions
}

#[test]
fn starts() {
    let active = || Err(Rejection::RunActive { run: run(1) });
    let over = || then(running(), finished(1, []));
    check(vec![], started(1, []), Err(Rejection::NotFound));
    check(vec![created()], started(1, []), Ok(1));
    check(vec![created()], started(1, [said("a"), said("b")]), Ok(3));
    check(running(), started(2, []), active());
    check(running(), started(1, []), active());
    check(stopping(), started(2, []), active());
    check(over(), started(2, []), Ok(1));
    let archived = then(over(), Action::Archive);
    check(archived, started(2, []), Err(Rejection::Archived));
    let erased = then(running(), ERASE);
    check(erased, started(2, []), Err(Rejection::Erased));
    let call_a = CallId::parse("a").unwrap();
    check(
        vec![created()],
        started(1, [said("x"), returned("a", None)]),
        Err(Rejection::CallNotOpen { index: 1, call_id: call_a }),
    );
}

/// A conversation whose first run starts in the commit that creates it.
fn created_with_run(facts: impl IntoIterator<Item = Fact>) -> Action {
    create(|create| {
        create.events = new_events(facts);
        create.run = Some(RunStarted { run: run(1), model: None, provider: None });
    })
}

#[test]
fn starts_with_the_conversation() {
    check(vec![], created_with_run([]), Ok(2));
    check(vec![], created_with_run([said("a"), said("b")]), Ok(4));
    let exists = || Err(Rejection::AlreadyExists);
    check(vec![created()], created_with_run([]), exists());
    let head = head_after(vec![created_with_run([said("q")])]).unwrap();
    assert_eq!((head.version, head.totals.commits), (Version(3), 1));
    assert_eq!(head.active_run.map(|active| active.id), Some(run(1)));
    let with_answer = vec![created_with_run([said("q")])];
    check(with_answer, finished(1, [said("a")]), Ok(2));
}

#[test]
fn stops() {
    check(vec![], stopped(1), Err(Rejection::NotFound));
    check(vec![created()], stopped(1), Ok(0));
    check(running(), stopped(1), Ok(1));
    check(running(), stopped(2), Ok(0));
    check(stopping(), stopped(1), Ok(0));
    check(then(running(), finished(1, [])), stopped(1), Ok(0));
    check(then(running(), Action::Archive), stopped(1), Ok(1));
    let erased = then(running(), ERASE);
    check(erased, stopped(1), Err(Rejection::Erased));
}

#[test]
fn finishes() {
    let not_active = || Err(Rejection::RunNotActive);
    check(vec![], finished(1, []), Err(Rejection::NotFound));
    check(vec![created()], finished(1, []), not_active());
    check(running(), finished(2, []), not_active());
    check(running(), finished(1, []), Ok(1));
    check(running(), finished(1, [said("a"), called("c")]), Ok(3));
    check(stopping(), finished(1, [said("a")]), Ok(2));
    let over = then(running(), finished(1, []));
    check(over, finished(1, []), not_active());
    let erased = then(running(), ERASE);
    check(erased, finished(1, []), Err(Rejection::Erased));
}

/// Its events are recorded, and no new run starts.
#[test]
fn a_run_finishes_in_an_archived_conversation() {
    let archived = || then(running(), Action::Archive);
    check(archived(), append([said("a")]), Err(Rejection::Archived));
    check(archived(), finished(1, [said("a")]), Ok(2));
    let over = || then(archived(), finished(1, [said("a")]));
    let head = head_after(over()).unwrap();
    assert_eq!((head.status, head.active_run), (Status::Archived, None));
    check(over(), started(2, []), Err(Rejection::Archived));
}

#[test]
fn a_run_with_a_full_commit() {
    let facts = || (0..RUN_EVENTS_MAX).map(|_| said("a"));
    check(vec![created()], started(1, facts()), Ok(EVENTS_PER_COMMIT_MAX));
    check(running(), finished(1, facts()), Ok(EVENTS_PER_COMMIT_MAX));
}

#[test]
fn the_run_s_own_fact_is_the_last_of_its_commit() {
    let head = head_after(vec![created()]);
    let decided = decide(head.as_ref(), &command(9, started(1, [said("a")]))).unwrap();
    let Decision::Commit(events) = decided else { panic!("nothing was decided") };
    assert_eq!(events[0].fact, said("a"));
    assert!(matches!(&events[1].fact, Fact::Lifecycle(Lifecycle::RunStarted(fact)) if fact.run == run(1)));
    assert_ne!(events[0].id, events[1].id);
    assert_eq!((events[1].tokens.own, events[1].tokens.through), (0, u64::from(TOKENS)));
}

#[test]
fn the_head_follows_the_run() {
    let active = |phase| Some(ActiveRun { id: run(1), phase });
    for (actions, expected) in [
        (vec![created()], None),
        (running(), active(RunPhase::Running)),
        (stopping(), active(RunPhase::Stopping)),
        (then(running(), finished(1, [])), None),
        (then(running(), ERASE), None),
        (then(running(), append([said("meanwhile")])), active(RunPhase::Running)),
    ] {
        assert_eq!(head_after(actions).unwrap().active_run, expected);
    }
}

#[test]
fn parts_that_are_accepted() {
    let delta = || vec![RunPartKind::TextDelta("a".to_owned())];
    let end = RunPartKind::RunEnded(RunEnd { outcome: RunOutcome::Stopped, error: None });
    let ending = || vec![RunPartKind::TextDelta("a".to_owned()), end.clone()];
    let archived = || then(running(), Action::Archive);
    let over = || then(running(), finished(1, []));
    let not_active = || Err(Rejection::RunNotActive);
    for (case, before, of, kinds, expected) in [
        ("nothing there", vec![], 1, delta(), Err(Rejection::NotFound)),
        ("no run", vec![created()], 1, delta(), not_active()),
        ("another run", running(), 2, delta(), not_active()),
        ("running", running(), 1, delta(), Ok(())),
        ("ending", running(), 1, ending(), Ok(())),
        ("stopping", stopping(), 1, delta(), Err(Rejection::RunStopping)),
        ("stopping, its end", stopping(), 1, ending(), Ok(())),
        ("archived", archived(), 1, delta(), Ok(())),
        ("over", over(), 1, ending(), not_active()),
        ("erased", then(running(), ERASE), 1, ending(), Err(Rejection::Erased)),
    ] {
        let numbered = (1..).zip(kinds);
        let parts: Vec<RunPart> = numbered.map(|(number, kind)| RunPart { number, kind }).collect();
        let head = head_after(before);
        let taken = check_parts(head.as_ref(), &agent("helper"), run(of), &parts);
        assert_eq!(taken, expected, "{case}");
        let foreign = check_parts(head.as_ref(), &agent("other"), run(of), &parts);
        assert_eq!(foreign, Err(Rejection::NotFound), "{case}");
    }
}

#[test]
fn the_commit_that_finishes_a_run_is_its_own() {
    assert_eq!(run(1).finish_commit(), run(1).finish_commit());
    assert_ne!(run(1).finish_commit(), run(2).finish_commit());
    let known = RunId::parse("0192f0c1-2345-7000-8000-000000000001").unwrap();
    assert_eq!(known.finish_commit().to_string(), "51e2a169-9b35-59b8-bab8-e6820b50a02b");
}
