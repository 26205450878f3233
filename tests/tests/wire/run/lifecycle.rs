//! Runs from start to end, one at a time.

use tests::errors::check_failure;
use tests::events::{assistant, call, fact, user};
use tests::parts::{alive, end, text};
use tests::stack::Stack;
use tonic::Code::{FailedPrecondition, NotFound};
use uuid::Uuid;
use wire::proto::event::v1::RunOutcome;
use wire::proto::event::v1::event::Fact;

use super::{CONVERSATION, Run};

#[tokio::test(flavor = "multi_thread")]
async fn a_run_from_its_start_to_its_end() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create(CONVERSATION).await;
    let id = Uuid::now_v7().to_string();
    let mut request = agent.start_request(CONVERSATION, &id, vec![user("hi")]);
    request.model = "m-1".to_owned();
    request.provider = "openai".to_owned();
    let started = agent.try_start(request).await.expect("a started run");
    assert_eq!((started.first_version, started.version), (2, 3));
    let mut run = Run { agent: agent.clone(), id: id.clone(), sequence: 0, next: 1 };
    assert_eq!(run.active().await, id);
    let first = run.publish(vec![text(1, "he"), text(2, "llo")]).await;
    let second = run.publish(vec![alive(3)]).await;
    let last = run.publish(vec![end(4, RunOutcome::Completed)]).await;
    assert!(0 < first && first < second && second < last);
    let events = vec![assistant("hello"), call("1", "{}")];
    let request = agent.finish_request(CONVERSATION, &id, events);
    let finished = agent.try_finish(request).await.expect("a finished run");
    assert_eq!((finished.first_version, finished.version), (4, 6));
    assert_eq!(run.active().await, "");
    let events = agent.events(agent.list_request(CONVERSATION)).await;
    let facts: Vec<&Fact> = events.iter().skip(1).map(fact).collect();
    let uuid = Uuid::parse_str(&id).expect("a UUID");
    assert!(
        matches!(
            facts.as_slice(),
            [
                Fact::MessageAppended(_),
                Fact::RunStarted(started),
                Fact::MessageAppended(_),
                Fact::ToolCalled(_),
                Fact::RunFinished(finished),
            ] if started.run_id.as_ref() == uuid.as_bytes()
                && (started.model.as_str(), started.provider.as_str()) == ("m-1", "openai")
                && finished.run_id == started.run_id
                && finished.outcome() == RunOutcome::Completed
        ),
        "{facts:?}"
    );
    let mut next = Run::start(&agent).await;
    next.say("again").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_run_is_rejected_with_the_first_id() {
    let stack = Stack::shared().await;
    let run = Run::begin(stack).await;
    let agent = &run.agent;
    let second = Uuid::now_v7().to_string();
    let start = || agent.try_start(agent.start_request(CONVERSATION, &second, vec![user("x")]));
    let active = (FailedPrecondition, "RUN_ACTIVE", "");
    let failure = check_failure("while it runs", start().await, active);
    assert_eq!(failure.metadata["run_id"], run.id);
    run.stop().await;
    let failure = check_failure("while it stops", start().await, active);
    assert_eq!(failure.metadata["run_id"], run.id);
    assert_eq!(agent.version(CONVERSATION).await, 4);
    run.finish().await;
    start().await.expect("the second run");
}

#[tokio::test(flavor = "multi_thread")]
async fn stops_and_their_answers() {
    let stack = Stack::shared().await;
    let mut run = Run::begin(stack).await;
    run.say("a").await;
    let stopped = run.stop().await;
    assert_eq!((stopped.first_version, stopped.version), (4, 4));
    let again = run.stop().await;
    assert!(again.commit_id.is_empty(), "{again:?}");
    assert_eq!(again.version, 4);
    let stopping = (FailedPrecondition, "RUN_STOPPING", "");
    for (case, parts) in [("a delta", vec![text(2, "b")]), ("a sign of life", vec![alive(2)])] {
        check_failure(case, run.try_publish(parts).await, stopping);
    }
    let last = vec![text(2, "b"), end(3, RunOutcome::Stopped)];
    run.publish(last).await;
    run.finish().await;
    for id in [run.id.clone(), Uuid::now_v7().to_string()] {
        let request = run.agent.stop_request(CONVERSATION, &id);
        let over = run.agent.try_stop(request).await.expect("no change");
        assert!(over.commit_id.is_empty(), "{over:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_runs() {
    let stack = Stack::shared().await;
    let run = Run::begin(stack).await;
    let agent = &run.agent;
    let other = Uuid::now_v7().to_string();
    let not_active = (FailedPrecondition, "RUN_NOT_ACTIVE", "");
    let parts = agent.parts_request(CONVERSATION, &other, 0, vec![text(1, "x")]);
    check_failure("its parts", agent.try_parts(parts).await, not_active);
    let finish = agent.finish_request(CONVERSATION, &other, vec![]);
    check_failure("its end", agent.try_finish(finish).await, not_active);
    let missing = (NotFound, "CONVERSATION_NOT_FOUND", "");
    let start = agent.start_request("none", &other, vec![]);
    check_failure("start", agent.try_start(start).await, missing);
    let parts = agent.parts_request("none", &other, 0, vec![text(1, "x")]);
    check_failure("parts", agent.try_parts(parts).await, missing);
    let stop = agent.stop_request("none", &other);
    check_failure("stop", agent.try_stop(stop).await, missing);
    let finish = agent.finish_request("none", &other, vec![]);
    check_failure("finish", agent.try_finish(finish).await, missing);
}
