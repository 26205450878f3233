//! Streams that open and reopen while events are recorded: each version once, in order.

use futures::future::join_all;
use http_listener::config::RateLimit;
use serde_json::json;
use tests::agent::Agent;
use tests::events::user;
use tests::http_client::HttpClient;
use wire::proto::operate::v1::Scope;

use super::{next_recorded, recorded_to, version_of, versions, watch};
use crate::fixture::{Fixture, bearer, begin};

const WRITERS: u64 = 4;
const COMMITS_OF_WRITER: u64 = 40;
const EVENTS_OF_COMMIT_MAX: u64 = 5;
const STREAMS_OF_READER: u64 = 12;

/// Different numbers below a bound, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Appends commits of different sizes; after each, a stream from there includes it.
async fn write(agent: Agent, reader: HttpClient, path: String, seed: u64) {
    let chat = path.split('/').nth(3).unwrap().to_owned();
    let mut numbers = Numbers(seed);
    for commit in 0..COMMITS_OF_WRITER {
        let count = 1 + numbers.below(EVENTS_OF_COMMIT_MAX);
        let events = (0..count).map(|_| user("x")).collect();
        let recorded = agent.append(&chat, events).await;
        if commit % 8 == 0 {
            let reader = reader.with("x-position-token", &recorded.position_token);
            let before = recorded.version - 1;
            let mut stream = watch(&reader, &format!("{path}?after={before}")).await;
            let event = next_recorded(&mut stream).await.unwrap();
            assert_eq!(version_of(&event), recorded.version);
            let newest = format!("{path}?after={}", recorded.version);
            drop(watch(&reader, &newest).await);
        }
    }
}

/// Reads to the last version, with a new stream after any number of events.
async fn read(client: HttpClient, path: String, last: u64, seed: u64) {
    let mut numbers = Numbers(seed);
    let mut received = Vec::new();
    for _ in 0..STREAMS_OF_READER {
        let after = received.last().copied().unwrap_or(0);
        let resumed = client.with("last-event-id", &after.to_string());
        // The header has precedence.
        let mut stream = watch(&resumed, &format!("{path}?after=0")).await;
        let until = (after + 1 + numbers.below(60)).min(last);
        if until > after {
            received.extend(versions(&recorded_to(&mut stream, until).await));
        }
    }
    let after = received.last().copied().unwrap_or(0);
    let mut stream = watch(&client, &format!("{path}?after={after}")).await;
    if after < last {
        received.extend(versions(&recorded_to(&mut stream, last).await));
    }
    assert_eq!(received, (1..=last).collect::<Vec<u64>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_version_comes_once_and_in_order() {
    let many = RateLimit { per_second: 1_000, burst: 1_000 };
    let mut fixture = Fixture::with(|config| config.http.limits.session = many).await;
    let owner = fixture.session("s");
    let chat = begin(&owner, &json!({})).await;
    let service = bearer(&fixture.stack, &fixture.operator.token(&[Scope::Read], fixture.tenant).await.secret);
    let readers = [
        (owner.clone(), format!("/api/chats/{chat}/events")),
        (service, format!("/v1/conversations/{chat}/events/stream")),
        (fixture.admin(), format!("/v1/admin/conversations/{chat}/events/stream")),
    ];
    let last = 1 + (0..WRITERS).map(events_of_writer).sum::<u64>();
    let writing = join_all((0..WRITERS).map(|writer| {
        let path = format!("/api/chats/{chat}/events");
        write(fixture.agent.clone(), owner.clone(), path, writer)
    }));
    let reading = join_all((0..6).map(|reader| {
        let (client, path) = readers[usize::try_from(reader % 3).unwrap()].clone();
        read(client, path, last, 100 + reader)
    }));
    // The rows stop somewhere, so that the history comes from rows and tail.
    let stopping = fixture.stack.projector.stop();
    tokio::join!(writing, reading, stopping);
}

/// The number of events that a writer appends.
fn events_of_writer(seed: u64) -> u64 {
    let mut numbers = Numbers(seed);
    let sizes = (0..COMMITS_OF_WRITER).map(|_| 1 + numbers.below(EVENTS_OF_COMMIT_MAX));
    sizes.sum()
}
