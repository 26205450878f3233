//! The sequence of the last parts is a fence: callers with an old one cannot publish.

use tests::errors::check_failure;
use tests::eventually::eventually;
use tests::parts::{alive, end, text};
use tests::settings::Role;
use tests::stack::{Setup, Stack};
use tonic::Code::{Aborted, FailedPrecondition, InvalidArgument};
use wire::proto::event::v1::RunOutcome;

use super::{CONVERSATION, Run, record_of};

#[tokio::test(flavor = "multi_thread")]
async fn parts_behind_others_than_the_last() {
    let mut stack = Setup::tasks().start().await;
    let mut run = Run::begin(&stack).await;
    let first = run.say("a").await;
    let last = run.say("b").await;
    let superseded = (Aborted, "PARTS_SUPERSEDED", "");
    for _ in 0..2 {
        for (case, sequence, number) in
            [("behind nothing", 0, 1), ("behind the first", first, 2), ("behind what is not there", last + 100, 3)]
        {
            let behind = Run { sequence, ..run.clone() };
            let outcome = behind.try_publish(vec![text(number, "x")]).await;
            let failure = check_failure(case, outcome, superseded);
            assert_eq!(failure.metadata["last_sequence"], last.to_string(), "{case}");
        }
        // Its cached state of the run is gone.
        stack.writer.stop().await;
        stack.writer.start().await;
    }
    run.say("c").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_that_do_not_follow_by_number() {
    let mut stack = Setup::tasks().start().await;
    let mut run = Run::begin(&stack).await;
    let gap = (InvalidArgument, "FIELD_OUT_OF_RANGE", "parts[0].number");
    let outcome = run.try_publish(vec![text(2, "x")]).await;
    check_failure("the first is not 1", outcome, gap);
    run.publish(vec![text(1, "a"), text(2, "b")]).await;
    for _ in 0..2 {
        for number in [1, 2, 4, u64::MAX] {
            let outcome = run.try_publish(vec![text(number, "x")]).await;
            check_failure(&number.to_string(), outcome, gap);
        }
        stack.writer.stop().await;
        stack.writer.start().await;
    }
    let outcome = run.try_publish(vec![text(3, "c"), text(5, "d")]).await;
    let within = (InvalidArgument, "FIELD_OUT_OF_RANGE", "parts[1].number");
    check_failure("a gap within", outcome, within);
    run.say("c").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_follows_the_end() {
    let mut stack = Setup::tasks().start().await;
    let mut run = Run::begin(&stack).await;
    run.say("a").await;
    let before = run.clone();
    run.publish(vec![end(2, RunOutcome::Completed)]).await;
    let not_active = (FailedPrecondition, "RUN_NOT_ACTIVE", "");
    for _ in 0..2 {
        for parts in [vec![alive(3)], vec![end(3, RunOutcome::Stopped)]] {
            let outcome = run.try_publish(parts).await;
            check_failure("behind the end", outcome, not_active);
        }
        let outcome = before.try_publish(vec![text(2, "late")]).await;
        let superseded = (Aborted, "PARTS_SUPERSEDED", "");
        check_failure("beside the end", outcome, superseded);
        stack.writer.stop().await;
        stack.writer.start().await;
    }
    run.finish().await;
    for late in [before, run] {
        let outcome = late.try_publish(vec![alive(late.next)]).await;
        check_failure("once it is finished", outcome, not_active);
    }
}

/// A writer that knows neither of a stop nor of an end trusts its cache only for a moment.
#[tokio::test(flavor = "multi_thread")]
async fn changes_by_another_writer() {
    let stack = Stack::shared().await;
    let mut other = stack.another(Role::Writer);
    other.start().await;
    let mut run = Run::begin(stack).await;
    run.say("a").await;
    let caller = run.agent.caller().with_writer(&other.grpc_url());
    let other_writer = run.with_agent(tests::agent::Agent::new(caller, run.agent.id()));
    other_writer.stop().await;
    let refusal = refusal_in_time(&mut run).await;
    let stopping = (FailedPrecondition, "RUN_STOPPING", "");
    check_failure("once it was stopped", Err::<(), _>(refusal), stopping);
    other_writer.finish().await;
    let outcome = run.try_publish(vec![end(run.next, RunOutcome::Stopped)]);
    // By now only an end is accepted, and nothing supersedes it: only the head shows that the run has ended.
    if let Ok(sequence) = outcome.await {
        run.sequence = sequence;
        run.next += 1;
        let refusal = run.try_publish(vec![alive(run.next)]).await;
        let over = (FailedPrecondition, "RUN_NOT_ACTIVE", "");
        check_failure("behind its end", refusal, over);
    }
}

/// Publishes until a part is rejected.
async fn refusal_in_time(run: &mut Run) -> tonic::Status {
    let run = tokio::sync::Mutex::new(run);
    eventually("a refusal", || async {
        let mut run = run.lock().await;
        let part = alive(run.next);
        match run.try_publish(vec![part]).await {
            Ok(sequence) => {
                run.sequence = sequence;
                run.next += 1;
                None
            }
            Err(status) => Some(status),
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_parts() {
    let mut stack = Setup::tasks().prepare().await;
    stack.writer.settings.writer.record.parts_ttl_seconds = 1;
    stack.start().await;
    let mut run = Run::begin(&stack).await;
    run.say("a").await;
    let record = record_of(&stack).await;
    let (key, id) = run.place();
    eventually("no parts", || async {
        let last = record.last_parts(&key, id).await.expect("an answer");
        last.is_none().then_some(())
    })
    .await;
    let outcome = run.try_publish(vec![text(2, "b")]).await;
    let failure = check_failure("behind them", outcome, (Aborted, "PARTS_SUPERSEDED", ""));
    assert_eq!(failure.metadata["last_sequence"], "0");
    assert_eq!(run.active().await, run.id);
    run.finish().await;
    assert_eq!(run.agent.version(CONVERSATION).await, 5);
}
