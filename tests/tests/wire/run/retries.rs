//! Retries: every command of a run gets its first answer again, also from a restarted writer.

use tests::agent::Outcome;
use tests::errors::check_failure;
use tests::events::{assistant, user};
use tests::parts::{end, text};
use tests::stack::{Setup, Stack};
use tonic::Code::FailedPrecondition;
use uuid::Uuid;
use wire::proto::event::v1::RunOutcome;
use wire::proto::write::v1::CommandTarget;

use super::{CONVERSATION, Run};
use crate::write::{check_replayed, with};

async fn restart(stack: &mut Stack) {
    stack.writer.stop().await;
    stack.writer.start().await;
}

fn with_key(target: Option<CommandTarget>) -> Option<CommandTarget> {
    target.map(|target| {
        with(target, |target| {
            target.idempotency_key = Uuid::now_v7().to_string();
        })
    })
}

#[track_caller]
fn check(case: &str, again: Outcome, first: &Outcome) {
    let again = again.unwrap_or_else(|status| panic!("{case}: {status:?}"));
    let first = first.as_ref().expect("a first answer");
    check_replayed(case, &again, first);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_again_after_a_restart() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create(CONVERSATION).await;
    let id = Uuid::now_v7().to_string();
    let start = with(agent.start_request(CONVERSATION, &id, vec![user("q")]), |request| {
        request.target = with_key(request.target.take());
    });
    let first = agent.try_start(start.clone()).await;
    check("start", agent.try_start(start.clone()).await, &first);
    restart(&mut stack).await;
    check("start, restarted", agent.try_start(start).await, &first);
    let mut run = Run { agent: agent.clone(), id: id.clone(), sequence: 0, next: 1 };
    for parts in [vec![text(1, "a"), text(2, "b")], vec![text(3, "c")]] {
        let sequence = run.try_publish(parts.clone()).await.expect("parts");
        for _ in 0..2 {
            let again = run.try_publish(parts.clone()).await.expect("again");
            assert_eq!(again, sequence);
            restart(&mut stack).await;
        }
        run.publish(parts).await;
    }
    let stop = with(agent.stop_request(CONVERSATION, &id), |request| {
        request.target = with_key(request.target.take());
    });
    let first = agent.try_stop(stop.clone()).await;
    check("stop", agent.try_stop(stop.clone()).await, &first);
    restart(&mut stack).await;
    check("stop, restarted", agent.try_stop(stop).await, &first);
    let last = vec![end(4, RunOutcome::Stopped)];
    let sequence = run.try_publish(last.clone()).await.expect("an end");
    restart(&mut stack).await;
    assert_eq!(run.publish(last).await, sequence);
    let finish = agent.finish_request(CONVERSATION, &id, vec![assistant("abc")]);
    let first = agent.try_finish(finish.clone()).await;
    check("finish", agent.try_finish(finish.clone()).await, &first);
    restart(&mut stack).await;
    check("finish, restarted", agent.try_finish(finish).await, &first);
    assert_eq!(agent.version(CONVERSATION).await, 6);
}

/// The run's own key has no time, whether its id has one or not.
#[tokio::test(flavor = "multi_thread")]
async fn a_finish_again_after_many_more_commits() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create(CONVERSATION).await;
    for id in [Uuid::now_v7(), Uuid::new_v4()] {
        let id = id.to_string();
        let start = agent.start_request(CONVERSATION, &id, vec![]);
        agent.try_start(start).await.expect("a run");
        let finish = agent.finish_request(CONVERSATION, &id, vec![assistant("x")]);
        let first = agent.try_finish(finish.clone()).await;
        for _ in 0..10 {
            agent.append(CONVERSATION, vec![user("later")]).await;
        }
        for _ in 0..2 {
            check(&id, agent.try_finish(finish.clone()).await, &first);
            restart(&mut stack).await;
        }
        let own = with(finish.clone(), |request| {
            let run = domain::RunId::parse(&id).expect("a run");
            let target = request.target.as_mut().expect("a target");
            target.idempotency_key = run.finish_commit().to_string();
        });
        check("its own key", agent.try_finish(own).await, &first);
        let other = with(finish, |request| request.events.clear());
        check_failure(
            "another end",
            agent.try_finish(other).await,
            (FailedPrecondition, "IDEMPOTENCY_KEY_REUSED", "target.idempotency_key"),
        );
    }
}

/// The finish of an active run needs nothing from the read model.
#[tokio::test(flavor = "multi_thread")]
async fn a_finish_without_the_read_model() {
    let mut stack = Setup::tasks().with_own_postgres().start().await;
    let mut run = Run::begin(&stack).await;
    let agent = run.agent.clone();
    for _ in 0..10 {
        agent.append(CONVERSATION, vec![user("meanwhile")]).await;
    }
    stack.servers.postgres_mut().kill();
    run.publish(vec![end(1, RunOutcome::Completed)]).await;
    assert!(!run.finish().await.replayed);
    assert!(run.finish().await.replayed);
}
