//! A `DELETE` of a long conversation: durable at once, and finished in the background, also after the connection
//! closes.

use std::convert::Infallible;
use std::io::Write as _;
use std::pin::pin;
use std::time::Duration;

use domain::{ConversationId, ConversationKey, Status, TenantId};
use event_log::Record;
use reqwest::{Method, StatusCode};
use serde_json::json;
use tests::agent::Agent;
use tests::events::user;
use tests::eventually::{TIMEOUT, eventually};
use tests::http_client::HttpClient;
use tokio::time::Instant;
use tonic::Code;
use uuid::Uuid;

use crate::fixture::{Fixture, begin};

/// Concurrent appends.
const APPENDS_IN_FLIGHT: usize = 8;

async fn is_tombstone(record: &Record, key: &ConversationKey) -> Option<()> {
    let last = record.last_from_leader(key).await.ok()??;
    let head = last.open_head().ok()?;
    (head.status == Status::Erased).then_some(())
}

/// Waits until one commit is left and no erasure is pending; returns the time.
async fn wait_for_end(record: &Record, key: &ConversationKey, deadline: Duration) -> Duration {
    let began = Instant::now();
    loop {
        let commits = record.commits_of(key).await;
        let pending = record.count_pending_erasures().await;
        if commits == Ok(1) && pending == Ok(0) {
            return began.elapsed();
        }
        assert!(began.elapsed() < deadline, "{commits:?} commits, {pending:?} pending after {deadline:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A conversation with continuous appends during the erasure of another one.
struct ConcurrentAppends {
    agent: Agent,
    id: String,
}

impl ConcurrentAppends {
    /// In the same partition, so that the server does both in one stream.
    async fn new(fixture: &Fixture, record: &Record, erased: &ConversationKey) -> Self {
        let named = (0..).map(|n| format!("beside-{n}"));
        let id = named.into_iter().find(|id| {
            let key = ConversationKey { conversation: ConversationId::parse(id.as_str()).unwrap(), ..erased.clone() };
            record.layout().only_candidate(&key) == record.layout().only_candidate(erased)
        });
        let (agent, id) = (fixture.agent.clone(), id.expect("an id"));
        agent.create(&id).await;
        Self { agent, id }
    }

    /// The time of each append, one after the other, until `end`.
    async fn appends(&self, end: impl Future<Output = Duration>) -> (Duration, Vec<Duration>) {
        let (mut end, mut times) = (pin!(end), Vec::new());
        loop {
            let began = Instant::now();
            tokio::select! {
                ended = &mut end => return (ended, times),
                () = self.append() => times.push(began.elapsed()),
            }
        }
    }

    /// Appends, with retries while the record does not answer.
    async fn append(&self) {
        let events = vec![user("beside")];
        let request = self.agent.append_request(&self.id, events);
        while let Err(status) = self.agent.try_append(request.clone()).await {
            assert_eq!(status.code(), Code::Unavailable, "{status}");
        }
    }
}

/// The median, the 99th percentile and the maximum.
fn percentiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |percent: usize| times.get(times.len() * percent / 100).or(times.last());
    let shown = [at(50), at(99), times.last()].map(|time| time.copied().unwrap_or_default());
    let [p50, p99, max] = shown;
    format!("{} appends: p50 {p50:?}, p99 {p99:?}, max {max:?}", times.len())
}

/// Sends a `DELETE` and waits longer than for the answer. It is repeated as clients do: while the rows are far behind, the
/// answer is 503.
async fn delete_until_accepted(session: &HttpClient, path: &str) -> Infallible {
    loop {
        let answer = session.request(Method::DELETE, path).send().await.unwrap();
        let status = answer.status();
        if status != StatusCode::SERVICE_UNAVAILABLE {
            let body = answer.text().await.unwrap();
            assert!(status.is_success(), "{status}: {body}");
            return std::future::pending().await;
        }
    }
}

async fn sleep_for(time: Duration) -> Duration {
    tokio::time::sleep(time).await;
    time
}

/// Erases a conversation of this size over a connection that is closed before the answer.
async fn check(commits: usize, deadline: Duration, alone: Duration) {
    // Counts the pending erasures of all tenants.
    let fixture = Fixture::own().await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    let append = |n: usize| fixture.agent.append(&chat, vec![user(format!("text {n}"))]);
    let mut appends = (1..commits).map(append);
    loop {
        let some: Vec<_> = appends.by_ref().take(APPENDS_IN_FLIGHT).collect();
        if some.is_empty() {
            break;
        }
        futures::future::join_all(some).await;
    }
    let config = tests::settings::record(&fixture.stack.servers);
    let record = Record::open(config).await.unwrap();
    let key = ConversationKey {
        tenant: TenantId::parse(fixture.tenant).unwrap(),
        conversation: ConversationId::parse(chat.as_str()).unwrap(),
    };
    let held = u64::try_from(commits).unwrap();
    assert_eq!(record.commits_of(&key).await, Ok(held));

    let beside = ConcurrentAppends::new(&fixture, &record, &key).await;
    let (_, before) = beside.appends(sleep_for(alone)).await;
    let path = format!("/api/chats/{chat}");
    let named = session.with("idempotency-key", &Uuid::now_v7().to_string());
    tokio::select! {
        () = eventually("a tombstone", || is_tombstone(&record, &key)) => {}
        never = delete_until_accepted(&named, &path) => match never {},
    }
    eventually("a conversation that is gone for readers", || async {
        (session.get(&path).await.status == 404).then_some(())
    })
    .await;
    // A retry returns the number of remaining commits, unless the erasure has ended. The server may answer slowly while it overwrites.
    let retried = eventually("a retry that is answered", || async {
        let retried = named.delete(&path).await;
        [202, 204].contains(&retried.status).then_some(retried)
    })
    .await;
    if retried.status == 202 {
        let left = retried.json()["pendingCommits"].as_u64().unwrap();
        assert!((1..=held).contains(&left), "{left}");
    }
    let (took, during) = beside.appends(wait_for_end(&record, &key, deadline)).await;
    eventually("a retry that reports the end", || async { (named.delete(&path).await.status == 204).then_some(()) })
        .await;
    let line = format!(
        "{commits} commits overwritten in {took:?} after the retry; beside it, before: {}; meanwhile: {}\n",
        percentiles(before),
        percentiles(during)
    );
    // Printed for runs with `--nocapture`.
    let _closed = std::io::stderr().lock().write_all(line.as_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn deletes_finish_after_the_connection_closes() {
    check(1_200, TIMEOUT * 2, Duration::from_millis(200)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes"]
async fn a_delete_of_20_000_commits_is_finished_within_15_minutes() {
    check(20_000, Duration::from_mins(15), Duration::from_secs(20)).await;
}
