//! Stolen credentials of readers create push consumers that deliver into the record, or to those that watch it.
//!
//! The server creates each of them in the record's account: permissions are for the subject of the request, not for its content.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tests::events::user;
use tests::eventually::within;
use tests::nats_accounts;
use tests::program;
use tests::raw_nats::RawNats;
use tests::stack::Stack;
use wire::proto::read::v1::watch_conversation_response::Item;

const PARTITIONS: u16 = 8;
/// A subject of each stream, and one that no stream stores.
const SUBJECTS: [&str; 10] = [
    "hansard.1.acme.c",
    "hansard_parts.1.acme.c.r",
    "hansard_logs.acme.c",
    "hansard_erasures.acme.c",
    "hansard-archive.1.x",
    "hansard-layout.partitions",
    "hansard-layout.x",
    "$KV.HANSARD_registry.service_token.x",
    "$KV.HANSARD_restricted.receipt.keys",
    "$JS.API.STREAM.PURGE.HANSARD_1",
];
/// The same subjects with wildcards, which the server refuses.
const WILDCARDS: [&str; 3] = ["hansard.1.>", "$KV.HANSARD_registry.*.x", ">"];
/// A subject that the gateway's user may subscribe to.
const WATCHED: &str = "live.watched";
/// Each user, and a stream with messages that it may consume.
const THIEVES: [(&str, &str); 2] = [("projector", "HANSARD_0"), ("gateway", "KV_HANSARD_registry")];
/// Messages of a consumer to [`WATCHED`] after which the consumers before it have delivered: the first and two heartbeats.
const MESSAGES: usize = 3;

async fn connect(stack: &Stack, user: &str) -> RawNats {
    RawNats::connect(&stack.servers.nats().url(), user, &nats_accounts::password(user)).await
}

/// Creates a consumer of a whole stream that delivers to a subject; returns the server's answer.
async fn deliver(thief: &mut RawNats, stream: &str, subject: &str) -> Value {
    let config = json!({
        "deliver_subject": subject, "deliver_policy": "all", "ack_policy": "none", "idle_heartbeat": 100_000_000,
    });
    let body = json!({"stream_name": stream, "config": config});
    thief.request(&format!("RECORD.API.CONSUMER.CREATE.{stream}"), &body).await
}

/// The last sequence and the number of messages of each stream.
async fn streams(operator: &mut RawNats) -> BTreeMap<String, (Value, Value)> {
    let listed = operator.request("$JS.API.STREAM.LIST", &json!({})).await;
    let streams = listed["streams"].as_array().expect("streams").iter();
    let of = |stream: &Value| {
        let (name, state) = (stream["config"]["name"].as_str().expect("a name"), &stream["state"]);
        (name.to_owned(), (state["last_seq"].clone(), state["messages"].clone()))
    };
    streams.map(of).collect()
}

/// A stack whose record has every stream, with commits in every partition, and whose roles are stopped.
async fn prepare() -> Stack {
    let mut stack = nats_accounts::prepare(program!()).await;
    Box::pin(stack.start()).await;
    let record = nats_accounts::record(&stack).await;
    let agent = stack.operator().await.agent("acme", "support").await;
    for n in 0..4 * PARTITIONS {
        agent.create(&format!("c{n}")).await;
    }
    for node in [&mut stack.gateway, &mut stack.projector, &mut stack.writer] {
        node.stop().await;
    }
    record.announce_partitions(PARTITIONS + 1, &[]).await.expect("a layout");
    stack
}

#[tokio::test(flavor = "multi_thread")]
async fn no_push_consumer_delivers_into_a_stream() {
    let stack = prepare().await;
    let mut operator = connect(&stack, "operator").await;
    let before = streams(&mut operator).await;
    assert_eq!(before.len(), 2 * (usize::from(PARTITIONS) + 1) + 6, "{before:?}");
    let mut watcher = connect(&stack, "gateway").await;
    assert_eq!(watcher.subscribe(WATCHED).await, Vec::<String>::new());
    for (user, stream) in THIEVES {
        assert_ne!(before[stream].1, json!(0), "{stream}");
        let mut thief = connect(&stack, user).await;
        for subject in SUBJECTS {
            let created = deliver(&mut thief, stream, subject).await;
            // A cycle within one stream is refused.
            let is_refused = created.get("error").is_some();
            assert_eq!(is_refused, subject.starts_with("$KV.HANSARD_registry") && user == "gateway", "{created}");
        }
        for subject in WILDCARDS {
            let refused = deliver(&mut thief, stream, subject).await;
            assert!(refused.get("error").is_some(), "{refused}");
        }
        deliver(&mut thief, stream, WATCHED).await;
        for _ in 0..MESSAGES {
            watcher.message().await;
        }
        assert_eq!(streams(&mut operator).await, before, "{user}");
    }
    let layout = nats_accounts::record(&stack).await.layout();
    assert_eq!(layout.partitions(), PARTITIONS + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn watchers_ignore_what_a_consumer_delivers() {
    let mut stack = nats_accounts::prepare(program!()).await;
    Box::pin(stack.start()).await;
    let agent = stack.operator().await.agent("acme", "support").await;
    agent.create("c").await;
    agent.append("c", vec![user("one")]).await;
    let request = agent.watch_request("c", 3);
    let mut watch = agent.caller().read().watch_conversation(request).await.expect("a watch").into_inner();
    let first = within("the end of the history", watch.message()).await.expect("an item").expect("an item");
    assert!(matches!(first.item, Some(Item::CaughtUp(_))), "{first:?}");
    let mut thief = connect(&stack, "projector").await;
    for partition in 0..PARTITIONS {
        let mut watcher = connect(&stack, "gateway").await;
        let subject = format!("live.hansard.{partition}.acme.c");
        assert_eq!(watcher.subscribe(&subject).await, Vec::<String>::new());
        for source in 0..PARTITIONS {
            let created = deliver(&mut thief, &format!("HANSARD_{source}"), &subject).await;
            assert_eq!(created.get("error"), None, "{created}");
        }
        for _ in 0..MESSAGES {
            watcher.message().await;
        }
    }
    let written = agent.append("c", vec![user("two")]).await;
    let seen = within("a commit", watch.message()).await.expect("an item").expect("an item");
    let Some(Item::Event(event)) = seen.item else { panic!("an event: {seen:?}") };
    assert_eq!((event.version, written.version), (3, 3));
    agent.wait_for_rows("c", 3).await;
    assert_eq!(agent.context("c", 5).await.messages.len(), 2);
}
