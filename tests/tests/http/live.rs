//! Live streams: what one client records, the others receive, each event once and in order.

mod bounds;
mod ends;
mod races;
mod slow_client;
mod tabs;

use reqwest::Method;
use serde_json::Value;
use tests::http_client::HttpClient;

use crate::turns::sse::{Event, EventStream};

/// Opens a live stream; `after` is a version, or nothing.
pub(crate) async fn watch(client: &HttpClient, path: &str) -> EventStream {
    let stream = EventStream::open(client.request(Method::GET, path)).await;
    assert_eq!(stream.status, 200, "{path}");
    stream
}

/// The live stream of a chat.
async fn watch_chat(client: &HttpClient, chat: &str, after: u64) -> EventStream {
    watch(client, &format!("/api/chats/{chat}/events?after={after}")).await
}

/// The next recorded event; `None` if the stream ends first.
async fn next_recorded(stream: &mut EventStream) -> Option<Value> {
    loop {
        let event = stream.next().await?;
        if event.name.as_deref() == Some("end") {
            return None;
        }
        if let Some(id) = &event.id {
            let body = json(&event);
            assert_eq!(body["version"].to_string(), *id);
            return Some(body);
        }
    }
}

/// The recorded events up to this version.
async fn recorded_to(stream: &mut EventStream, version: u64) -> Vec<Value> {
    let mut events = Vec::new();
    while events.last().map_or(0, version_of) < version {
        events.push(next_recorded(stream).await.expect("an event"));
    }
    events
}

/// Reads the events up to the one named `end`, and returns its data.
async fn end(stream: &mut EventStream) -> Value {
    let events = stream.rest().await;
    let last = events.last().expect("an event");
    assert_eq!(last.name.as_deref(), Some("end"), "{last:?}");
    assert_eq!(last.id, None);
    json(last)
}

fn json(event: &Event) -> Value {
    serde_json::from_str(&event.data).unwrap()
}

fn version_of(event: &Value) -> u64 {
    event["version"].as_u64().unwrap()
}

fn versions(events: &[Value]) -> Vec<u64> {
    events.iter().map(version_of).collect()
}
