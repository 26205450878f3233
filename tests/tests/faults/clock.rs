//! A writer's clock jumps ahead and back, or is wrong all the time; another writer's clock is correct.
//!
//! The clock is that of a real process, changed with libfaketime, which is preloaded. The test is skipped without the
//! library. Monotonic time continues, as when a machine's clock is set.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;
use tempfile::TempDir;
use tests::agent::{Agent, Outcome};
use tests::errors::check_failure;
use tests::events::user;
use tests::eventually::eventually;
use tests::raw_nats::RawNats;
use tonic::Code::{InvalidArgument, Unavailable};
use uuid::{NoContext, Timestamp, Uuid};
use wire::proto::write::v1::{AppendEventsRequest, CommitResult};

use crate::fixture::{AGENT, FaultTarget, Fixture};
use crate::injection::run_with_faults;
use crate::table::{Obstacle, permitted};
use crate::workload::{HOT, Journal};

/// The variable of the library, `libfaketime.so.1`, from Debian's `libfaketime` or the wheel of that name.
const VARIABLE: &str = "FAULT_FAKETIME";
/// The path on Debian.
const DEBIAN: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
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
    let clock = WrongClock::of_first_writer(&mut fixture, &library).await;
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
    let clock = WrongClock::of_first_writer(&mut fixture, &library).await;
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

/// The clock of a process. When dropped, the files that the library leaves of a killed process are removed.
struct WrongClock {
    folder: TempDir,
    process: u32,
}

impl WrongClock {
    /// Only the first writer: the clock of the second one is correct.
    async fn of_first_writer(fixture: &mut Fixture, library: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut clock = Self { folder, process: 0 };
        clock.set(0);
        let writer = &mut fixture.stack.writer;
        writer.kill();
        writer.settings.variables = variables(library, &clock.hand());
        writer.start().await;
        clock.process = writer.process().expect("a running process").id();
        clock
    }

    fn hand(&self) -> PathBuf {
        self.folder.path().join("hand")
    }

    /// Sets the clock atomically, because the writer may read it at any time.
    fn set(&self, offset_s: i64) {
        let next = self.folder.path().join("next");
        fs::write(&next, format!("{offset_s:+}\n"))
            .and_then(|()| fs::rename(&next, self.hand()))
            .expect("a clock's hand");
    }
}

impl Drop for WrongClock {
    fn drop(&mut self) {
        for name in ["faketime_shm_", "sem.faketime_sem_"] {
            let _not_there = fs::remove_file(format!("/dev/shm/{name}{}", self.process));
        }
    }
}

fn library() -> Result<PathBuf, Obstacle> {
    let named = std::env::var_os(VARIABLE).map_or(PathBuf::from(DEBIAN), PathBuf::from);
    let absent = || Obstacle::Tool(format!("no libfaketime at {}: name it in {VARIABLE}", named.display()));
    named.exists().then(|| named.clone()).ok_or_else(absent)
}

fn variables(library: &Path, hand: &Path) -> Vec<(String, String)> {
    let text = |path: &Path| path.to_str().expect("a path in UTF-8").to_owned();
    let variables = [
        ("LD_PRELOAD", text(library)),
        ("FAKETIME_TIMESTAMP_FILE", text(hand)),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ("NO_FAKE_STAT", "1".to_owned()),
    ];
    variables.map(|(name, value)| (name.to_owned(), value)).into()
}
