//! Conversations that are archived or erased during a run.

use tests::agent::Agent;
use tests::errors::check_failure;
use tests::parts::{alive, end};
use tests::settings::Role;
use tests::stack::{Setup, Stack};
use tonic::Code::FailedPrecondition;
use uuid::Uuid;
use wire::proto::event::v1::ConversationStatus;
use wire::proto::event::v1::RunOutcome;

use super::{CONVERSATION, Run, record_of};

/// The run continues to its end and is stored; no other run starts.
#[tokio::test(flavor = "multi_thread")]
async fn runs_continue_after_archiving() {
    let stack = Stack::shared().await;
    let mut run = Run::begin(stack).await;
    let agent = run.agent.clone();
    run.say("a").await;
    agent.try_archive(agent.target(CONVERSATION)).await.expect("archived");
    run.say("b").await;
    run.publish(vec![end(3, RunOutcome::Completed)]).await;
    run.finish().await;
    let seen = agent.conversation(CONVERSATION).await;
    assert_eq!(seen.status(), ConversationStatus::Archived);
    assert_eq!((seen.version, seen.active_run_id.as_str()), (6, ""));
    let next = Uuid::now_v7().to_string();
    let start = agent.start_request(CONVERSATION, &next, vec![]);
    let closed = (FailedPrecondition, "CONVERSATION_ARCHIVED", "");
    check_failure("another run", agent.try_start(start).await, closed);
}

/// Nothing is stored: the parts are deleted at once, and the run's maker gets an error.
#[tokio::test(flavor = "multi_thread")]
async fn erasure_ends_the_run() {
    let mut stack = Setup::tasks().start().await;
    let mut other = stack.another(Role::Writer);
    other.start().await;
    let mut run = Run::begin(&stack).await;
    let agent = run.agent.clone();
    run.say("secret").await;
    let record = record_of(&stack).await;
    let (key, id) = run.place();
    let caller = agent.caller().with_writer(&other.grpc_url());
    let other_writer = Agent::new(caller, agent.id());
    // Erased by another writer than the one with the cached state.
    other_writer.try_erase(other_writer.target(CONVERSATION)).await.expect("erased");
    let gone = (FailedPrecondition, "CONVERSATION_ERASED", "");
    for _ in 0..2 {
        assert_eq!(record.last_parts(&key, id).await.expect("an answer"), None);
        let late = run.try_publish(vec![alive(2)]).await;
        check_failure("late parts", late, gone);
        let first = Run { sequence: 0, ..run.clone() };
        let late = first.try_publish(vec![alive(1)]).await;
        check_failure("late first parts", late, gone);
        let finish = agent.finish_request(CONVERSATION, &run.id, vec![]);
        check_failure("a late end", agent.try_finish(finish).await, gone);
        let stop = agent.stop_request(CONVERSATION, &run.id);
        check_failure("a late stop", agent.try_stop(stop).await, gone);
        stack.writer.stop().await;
        stack.writer.start().await;
    }
}

/// A writer that does not know of the erasure publishes a run's first parts, and then deletes them.
#[tokio::test(flavor = "multi_thread")]
async fn first_parts_behind_an_erasure() {
    let stack = Stack::shared().await;
    let mut other = stack.another(Role::Writer);
    other.start().await;
    let run = Run::begin(stack).await;
    let caller = run.agent.caller().with_writer(&other.grpc_url());
    let other_writer = Agent::new(caller, run.agent.id());
    other_writer.try_erase(other_writer.target(CONVERSATION)).await.expect("erased");
    let gone = (FailedPrecondition, "CONVERSATION_ERASED", "");
    let late = run.try_publish(vec![alive(1)]).await;
    check_failure("first parts", late, gone);
    let (key, id) = run.place();
    let record = record_of(stack).await;
    assert_eq!(record.last_parts(&key, id).await.expect("an answer"), None);
}
