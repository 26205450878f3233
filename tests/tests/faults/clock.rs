//! A writer's clock jumps ahead and back, or is wrong all the time; another writer's clock is correct.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;
use tests::agent::{Agent, Outcome};
use tests::errors::check_failure;
use tests::events::user;
use tests::eventually::eventually;
use tests::raw_nats::RawNats;
use tonic::Code::{InvalidArgument, Unavailable};
use uuid::{NoContext, Timestamp, Uuid};
use wire::proto::write::v1::{AppendEventsRequest, CommitResult};

use crate::faketime::{WrongClock, library};
use crate::fixture::{AGENT, FaultTarget, Fixture};
use crate::injection::run_with_faults;
use crate::table::{Row, add, permitted};
use crate::workload::{HOT, Journal};

/// The clock's offsets in turn, in seconds: an hour; beyond and within the age window of keys; a day; a month; and none.
const JUMPS: [i64; 9] = [3_600, -3_600, 540, -540, 86_400, -86_400, 2_592_000, -2_592_000, 0];
/// Acknowledgements between two jumps.
const AFTER: usize = 40;
/// The offsets of a wrong clock, in seconds: six minutes, an hour, a day, a month.
const OFFSETS: [i64; 4] = [360, 3_600, 86_400, 2_592_000];
/// The age of a key by a slow clock: it looks young.
const SEEMING_AGE_S: i64 = 300;
/// Maximum difference of the time of a commit from the clock of this test, in seconds.
const RECORDED_WITHIN_S: u64 = 30;
/// Commits that push a key out of the head.
const OTHERS: usize = 12;
/// The duplicate window of a stream that is to forget its keys at once: the shortest.
const SHORTEST_WINDOW_NS: u64 = 100_000_000;

#[tokio::test(flavor = "multi_thread")]
async fn writer_clock_jumps() {
    let title = "a writer's clock jumps by minutes, an hour and a month, ahead and back";
    let Some(library) = permitted(title, library()) else {
        return;
    };
    let mut fixture = Fixture::start().await;
    let clock = WrongClock::of(&mut fixture.stack.writer, &library).await;
    let mut retried = 0;
    let run = run_with_faults(&mut fixture, &[()], async |_, load, ()| {
        for jump in JUMPS {
            let mut client = load.client();
            let pending = client.pending_append(HOT);
            let outcome = client.settle(pending.clone()).await;
            // The retry uses the writer with the changed clock, which may lag far behind the time of the key.
            client.endpoints.writers.truncate(1);
            clock.set(jump);
            // The retries have another journal, because the command was requested once.
            client.endpoints.journal = Arc::new(Journal::new());
            let again = client.settle(pending).await;
            assert_eq!(again, outcome, "a retry after a jump to {jump} s");
            retried += 1;
            load.wait_for_acknowledgements(AFTER).await;
        }
    });
    let run = run.await.with("jumps, each with a retry that got the first answer", retried.to_string());
    run.check(title, &mut fixture).await;
}

/// Keys whose commits the streams have forgotten, and keys of the future, through a writer whose clock makes them look young.
#[tokio::test(flavor = "multi_thread")]
async fn keys_are_committed_once_with_wrong_clocks() {
    let title = "a writer's clock is wrong by minutes, an hour, a day and a month";
    let Some(library) = permitted(title, library()) else {
        return;
    };
    let mut fixture = Fixture::start().await;
    let clock = WrongClock::of(&mut fixture.stack.writer, &library).await;
    let [wrong, correct] =
        <[_; 2]>::try_from(fixture.callers()).expect("two writers").map(|one| Agent::new(one, AGENT));
    forget_at_once(&fixture).await;
    let mut committed = Vec::new();
    for offset in OFFSETS {
        committed.push((-offset, commit_old_key(&correct, offset).await));
    }
    // The servers read the keys of their duplicate windows when they start.
    fixture.kill(FaultTarget::Nats);
    fixture.restart(FaultTarget::Nats).await;
    for (offset, (request, first)) in committed {
        clock.set(offset);
        create(&wrong, &format!("made-{offset}")).await;
        let again = available(async || wrong.try_append(request.clone()).await).await.expect("the first answer");
        assert_eq!(again, CommitResult { replayed: true, ..first }, "a clock of {offset} s");
        correct.wait_for_rows(&again.conversation_id, again.version + u64::try_from(OTHERS).unwrap()).await;
    }
    for offset in OFFSETS {
        clock.set(offset);
        refuse_future_key(&wrong, offset).await;
    }
    let (offsets, findings) = (OFFSETS.len(), "0".to_owned());
    let besides =
        format!("retries that got the first answer: {offsets}; keys of the future that were refused: {offsets}");
    add(title, Row { strikes: (2 * offsets).to_string(), findings, besides, ..Row::default() });
    Box::pin(crate::wrong_clocks::check(&mut fixture, &library, &clock)).await;
}

/// A commit with a key that was made when a slow clock shows the present, and other commits. Returns the request and its answer.
async fn commit_old_key(agent: &Agent, slow_s: i64) -> (AppendEventsRequest, CommitResult) {
    let conversation = format!("slow-{slow_s}");
    agent.create(&conversation).await;
    let request = append_request(agent, &conversation, -slow_s - SEEMING_AGE_S);
    let first = agent.try_append(request.clone()).await.expect("a commit");
    for _ in 0..OTHERS {
        agent.append(&conversation, vec![user("later")]).await;
    }
    (request, first)
}

/// A key that a fast clock takes for one of the present is one of the future.
async fn refuse_future_key(agent: &Agent, fast_s: i64) {
    let conversation = format!("fast-{fast_s}");
    create(agent, &conversation).await;
    let request = append_request(agent, &conversation, fast_s);
    let refused = (InvalidArgument, "IDEMPOTENCY_KEY_IN_FUTURE", "target.idempotency_key");
    check_failure(&conversation, agent.try_append(request).await, refused);
}

/// Creates a conversation. The servers have the clock of this test, and the commit has their time.
async fn create(agent: &Agent, conversation: &str) {
    let request = agent.create_request(conversation);
    let created = available(async || agent.try_create(request.clone()).await).await.expect("a conversation");
    let recorded_s = created.recorded_at.expect("a time").seconds.unsigned_abs();
    assert!(recorded_s.abs_diff(now_s()) < RECORDED_WITHIN_S, "{conversation}: {created:?}");
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_secs()
}

/// An append with a key that was made this long after now.
fn append_request(agent: &Agent, conversation: &str, after_s: i64) -> AppendEventsRequest {
    let made_at = now_s().checked_add_signed(after_s).expect("a time");
    let mut request = agent.append_request(conversation, vec![user("once")]);
    let key = Uuid::new_v7(Timestamp::from_unix(NoContext, made_at, 0));
    request.target.get_or_insert_default().idempotency_key = key.to_string();
    request
}

/// The answer of a writer, as soon as the record is available to it.
async fn available(call: impl AsyncFn() -> Outcome) -> Outcome {
    let answered = async || match call().await {
        Err(status) if status.code() == Unavailable => None,
        outcome => Some(outcome),
    };
    eventually("an answer", answered).await
}

/// Gives the streams of commits the shortest duplicate window.
async fn forget_at_once(fixture: &Fixture) {
    let mut nats = RawNats::connect(&fixture.stack.servers.nats().url(), "", "").await;
    for partition in 0..fixture.record().await.partitions() {
        let info = nats.request(&format!("$JS.API.STREAM.INFO.HANSARD_{partition}"), &json!({})).await;
        let mut config = info["config"].clone();
        config["duplicate_window"] = json!(SHORTEST_WINDOW_NS);
        let updated = nats.request(&format!("$JS.API.STREAM.UPDATE.HANSARD_{partition}"), &config).await;
        assert_eq!(updated["config"]["duplicate_window"], json!(SHORTEST_WINDOW_NS), "{updated}");
    }
}
