//! Invalid fields: reason and path, and nothing is appended or published.

use domain::bounds::{
    BATCH_DELTA_BYTES_MAX, CREATE_RUN_EVENTS_MAX, DELTA_BYTES_MAX, PARTS_PER_BATCH_MAX, RUN_EVENTS_MAX,
};
use tests::agent::Agent;
use tests::errors::{Failure, check_failure};
use tests::events::user;
use tests::parts::{alive, end, text};
use tests::stack::{Setup, Stack};
use tonic::Code::InvalidArgument;
use wire::proto::event::v1::{Event, RunOutcome};
use wire::proto::run::v1 as proto;
use wire::proto::write::v1::NewRun;

use super::{CONVERSATION, Run, record_of};
use crate::write::with;

/// Name, reason, field, and the change of a start.
type Start = (&'static str, &'static str, &'static str, fn(&mut proto::StartRunRequest));

#[rustfmt::skip]
const STARTS: [Start; 7] = [
    ("no target", "FIELD_MISSING", "target", |r| r.target = None),
    ("no run", "FIELD_MISSING", "run_id", |r| r.run_id.clear()),
    ("no UUID", "FIELD_MALFORMED", "run_id", |r| r.run_id.push('x')),
    ("a long model", "FIELD_TOO_LONG", "model", |r| r.model = "m".repeat(257)),
    ("a long provider", "FIELD_TOO_LONG", "provider", |r| r.provider = "m".repeat(257)),
    ("no fact", "FIELD_MISSING", "events[0].fact", |r| r.events = vec![Event::default()]),
    ("no key", "FIELD_MALFORMED", "target.idempotency_key", |r| {
        if let Some(target) = &mut r.target {
            target.idempotency_key = "x".to_owned();
        }
    }),
];

/// Name, field, and the cleared field of a batch of parts.
type Batch = (&'static str, &'static str, fn(&mut proto::AppendPartsRequest));

#[rustfmt::skip]
const BATCHES: [Batch; 3] = [
    ("no agent", "agent_id", |r| r.agent_id.clear()),
    ("no conversation", "conversation_id", |r| r.conversation_id.clear()),
    ("no run", "run_id", |r| r.run_id.clear()),
];

fn events(count: usize) -> Vec<Event> {
    (0..count).map(|_| user("x")).collect()
}

async fn agent_of(stack: &Stack) -> Agent {
    let agent = stack.any_agent().await;
    agent.create(CONVERSATION).await;
    agent
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_start() {
    let stack = Stack::shared().await;
    let agent = agent_of(stack).await;
    let id = uuid::Uuid::now_v7().to_string();
    for (case, reason, field, change) in STARTS {
        let request = with(agent.start_request(CONVERSATION, &id, vec![]), change);
        let expected = (InvalidArgument, reason, field);
        check_failure(case, agent.try_start(request).await, expected);
        assert_eq!(agent.version(CONVERSATION).await, 1, "{case}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_ends() {
    let stack = Stack::shared().await;
    let run = Run::begin(stack).await;
    let agent = &run.agent;
    let missing = (InvalidArgument, "FIELD_MISSING", "run_id");
    let stop = agent.stop_request(CONVERSATION, "");
    check_failure("no run to stop", agent.try_stop(stop).await, missing);
    let finish = agent.finish_request(CONVERSATION, "", vec![]);
    check_failure("no run to finish", agent.try_finish(finish).await, missing);
    for outcome in [0, 99] {
        let finish = agent.finish_request(CONVERSATION, &run.id, vec![]);
        let finish = with(finish, |request| request.outcome = outcome);
        let outcome = agent.try_finish(finish).await;
        let failure: Failure = outcome.expect_err("a refusal").into();
        let code_and_field = (failure.code, failure.field.as_str());
        assert_eq!(code_and_field, (InvalidArgument, "outcome"));
    }
    assert_eq!(run.active().await, run.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn events_at_the_bound_and_one_past() {
    let stack = Stack::shared().await;
    let agent = agent_of(stack).await;
    let id = uuid::Uuid::now_v7().to_string();
    let too_many = (InvalidArgument, "TOO_MANY_EVENTS", "events");
    let start = |count| agent.start_request(CONVERSATION, &id, events(count));
    let past = agent.try_start(start(RUN_EVENTS_MAX + 1)).await;
    check_failure("a start", past, too_many);
    agent.try_start(start(RUN_EVENTS_MAX)).await.expect("a run");
    let finish = |count| agent.finish_request(CONVERSATION, &id, events(count));
    let past = agent.try_finish(finish(RUN_EVENTS_MAX + 1)).await;
    check_failure("an end", past, too_many);
    let most = agent.try_finish(finish(RUN_EVENTS_MAX)).await;
    assert_eq!(most.expect("its end").version, 1_001);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_run_that_starts_with_its_conversation() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let id = uuid::Uuid::now_v7().to_string();
    let create = |run_id: &str, model: &str, count| {
        with(agent.create_request(CONVERSATION), |request| {
            request.events = events(count);
            request.run = Some(NewRun { run_id: run_id.to_owned(), model: model.to_owned(), provider: String::new() });
        })
    };
    let long = "m".repeat(257);
    for (case, reason, field, request) in [
        ("no id", "FIELD_MISSING", "run.run_id", create("", "", 1)),
        ("no UUID", "FIELD_MALFORMED", "run.run_id", create("x", "", 1)),
        ("a long model", "FIELD_TOO_LONG", "run.model", create(&id, &long, 1)),
        ("many", "TOO_MANY_EVENTS", "events", create(&id, "", CREATE_RUN_EVENTS_MAX + 1)),
    ] {
        let expected = (InvalidArgument, reason, field);
        check_failure(case, agent.try_create(request).await, expected);
    }
    let most = agent.try_create(create(&id, "", CREATE_RUN_EVENTS_MAX)).await;
    assert_eq!(most.expect("a conversation").version, 500);
    let finish = agent.finish_request(CONVERSATION, &id, events(1));
    assert_eq!(agent.try_finish(finish).await.expect("its end").version, 502);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_batches() {
    let stack = Stack::shared().await;
    let run = Run::begin(stack).await;
    for (case, field, change) in BATCHES {
        let request = run.agent.parts_request(CONVERSATION, &run.id, 0, vec![alive(1)]);
        let outcome = run.agent.try_parts(with(request, change)).await;
        check_failure(case, outcome, (InvalidArgument, "FIELD_MISSING", field));
    }
}

fn deltas(count: usize, bytes: usize) -> Vec<proto::Part> {
    let numbers = (1..).take(count);
    numbers.map(|number| text(number, "x".repeat(bytes))).collect()
}

#[rustfmt::skip]
fn broken_parts() -> [(&'static str, &'static str, &'static str, Vec<proto::Part>); 8] {
    let past_full = with(deltas(BATCH_DELTA_BYTES_MAX / DELTA_BYTES_MAX, DELTA_BYTES_MAX), |parts| {
        parts.push(text(5, "x"));
    });
    let without_kind = proto::Part { number: 1, kind: None };
    [
        ("none", "FIELD_MISSING", "parts", vec![]),
        ("no number", "FIELD_MISSING", "parts[0].number", vec![alive(0)]),
        ("no kind", "FIELD_MISSING", "parts[0].kind", vec![without_kind]),
        ("an empty delta", "FIELD_MISSING", "parts[0].text_delta", deltas(1, 0)),
        ("a long delta", "FIELD_TOO_LONG", "parts[0].text_delta", deltas(1, DELTA_BYTES_MAX + 1)),
        ("one too many", "FIELD_TOO_LONG", "parts", deltas(PARTS_PER_BATCH_MAX + 1, 1)),
        ("too many bytes", "FIELD_TOO_LONG", "parts", past_full),
        ("behind an end", "FIELD_MALFORMED", "parts[1]", vec![end(1, RunOutcome::Failed), alive(2)]),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn of_parts() {
    let stack = Stack::shared().await;
    let mut run = Run::begin(stack).await;
    for (case, reason, field, parts) in broken_parts() {
        let expected = (InvalidArgument, reason, field);
        check_failure(case, run.try_publish(parts).await, expected);
    }
    let record = record_of(stack).await;
    let (key, id) = run.place();
    assert_eq!(record.last_parts(&key, id).await.expect("an answer"), None);
    let full = BATCH_DELTA_BYTES_MAX / DELTA_BYTES_MAX;
    run.publish(deltas(full, DELTA_BYTES_MAX)).await;
    let most = (run.next..).take(PARTS_PER_BATCH_MAX).map(alive).collect();
    run.publish(most).await;
}

/// The maximum message size of the server of the record.
#[tokio::test(flavor = "multi_thread")]
async fn parts_that_are_larger_than_a_message() {
    /// The overhead of a delta in a batch: tags, lengths and its number.
    const OVERHEAD_BYTES: usize = 10;
    let stack = Setup::tasks().with_nats_lines("max_payload: 64KB").start().await;
    let mut run = Run::begin(&stack).await;
    let record = record_of(&stack).await;
    let most = record.payload_bytes_max() - OVERHEAD_BYTES;
    let too_large = (InvalidArgument, "FIELD_TOO_LONG", "parts");
    let outcome = run.try_publish(vec![text(1, "x".repeat(most + 1))]).await;
    check_failure("one past", outcome, too_large);
    run.publish(vec![text(1, "x".repeat(most))]).await;
}
