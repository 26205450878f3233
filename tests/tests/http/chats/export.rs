//! Exports are complete and verbatim, and prove it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::ChainHash;
use prost::Message as _;
use serde_json::{Value, json};
use tests::events::{assistant, call, result, user};
use tests::http_client::HttpClient;
use wire::proto::event::v1::Event;

use crate::fixture::{Fixture, begin, list, text};

/// An export of this size uses several pages, and rows and tail.
const COMMITS: u64 = 20;
const EVENTS_OF_COMMIT: u64 = 500;

/// The bytes of a commit that the chain covers, computed from its events as in the description of the endpoint.
fn body(events: &[Vec<u8>]) -> Vec<u8> {
    let mut body = Vec::new();
    for event in events {
        body.push(0x0a);
        prost::encoding::encode_varint(u64::try_from(event.len()).unwrap(), &mut body);
        body.extend_from_slice(event);
    }
    body
}

fn raw(event: &Value) -> Vec<u8> {
    STANDARD.decode(text(event, "raw")).unwrap()
}

/// The event from its bytes, without the writer's token counts.
fn event_from_export(event: &Value) -> Event {
    Event { tokens: 0, tokens_through: 0, ..Event::decode(raw(event).as_slice()).unwrap() }
}

/// The chain, computed from the events of an export.
fn chain(events: &[Value]) -> String {
    let commits = events.chunk_by(|event, next| event["commitId"] == next["commitId"]);
    let chain = commits.fold(ChainHash::default(), |chain, commit| {
        let events: Vec<Vec<u8>> = commit.iter().map(raw).collect();
        chain.next(&body(&events))
    });
    chain.to_string()
}

async fn export(client: &HttpClient, chat: &str) -> Value {
    let answer = client.get(&format!("/api/chats/{chat}/export")).await;
    assert_eq!(answer.headers["content-type"], "application/json");
    let file = format!("attachment; filename=\"chat-{chat}.json\"");
    assert_eq!(answer.headers["content-disposition"], file);
    answer.ok(200)
}

#[tokio::test(flavor = "multi_thread")]
async fn exports_prove_order_and_completeness() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({"title": "t", "metadata": {"a": 1}})).await;
    let events = vec![user("hi"), assistant("look"), call("c1", "{\"q\": 1.0}")];
    fixture.agent.append(&chat, events).await;
    fixture.agent.append(&chat, vec![result("c1", "{\"n\": 1}")]).await;
    session.patch(&format!("/api/chats/{chat}"), &json!({"title": "u"})).await.ok(200);
    let exported = export(&session, &chat).await;
    assert_eq!(exported["format"], "hansard.export.v1");
    assert_eq!(exported["conversation"]["title"], "u");
    assert_eq!(exported["version"], 6);
    let events = list(&exported, "events");
    let versions: Vec<u64> = events.iter().map(|event| event["version"].as_u64().unwrap()).collect();
    assert_eq!(versions, [1, 2, 3, 4, 5, 6]);
    assert_eq!(chain(events), text(&exported, "chain"));
    let mut altered = events.to_vec();
    altered.swap(1, 2);
    assert_ne!(chain(&altered), text(&exported, "chain"));
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_export_what_owners_export() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({"title": "t"})).await;
    fixture.agent.append(&chat, vec![user("hi"), assistant("=1")]).await;
    for format in ["", "?format=json", "?format=csv", "?format=ndjson"] {
        let path = format!("/api/chats/{chat}/export{format}");
        let owners = session.get(&path).await;
        let path = format!("/v1/admin/conversations/{chat}/export{format}");
        let admins = fixture.admin().get(&path).await;
        assert_eq!((owners.status, admins.status), (200, 200), "{format}");
        assert_eq!(owners.body, admins.body, "{format}");
        let file = &admins.headers["content-disposition"];
        assert!(file.contains(&format!("\"conversation-{chat}.")), "{file}");
    }
    let path = format!("/api/chats/{chat}/export?format=ndjson");
    let lines = String::from_utf8(session.get(&path).await.body.to_vec()).unwrap();
    assert_eq!(lines.lines().count(), 4);
    assert_eq!(lines.lines().last(), Some("{\"end\":{\"version\":3}}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn exports_can_be_recorded_again() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    let events = vec![user("=1+1"), assistant("a \u{0000} b"), call("c1", "{\"q\": 1.0}")];
    fixture.agent.append(&chat, events).await;
    fixture.agent.append(&chat, vec![result("c1", "[1.10]"), assistant("done")]).await;
    let exported = export(&session, &chat).await;
    let copy = begin(&session, &json!({})).await;
    let events = &list(&exported, "events")[1..];
    for commit in events.chunk_by(|event, next| event["commitId"] == next["commitId"]) {
        let again = commit.iter().map(event_from_export);
        fixture.agent.append(&copy, again.collect()).await;
    }
    let export_of_copy = export(&session, &copy).await;
    let copied = &list(&export_of_copy, "events")[1..];
    let events = |of: &[Value]| -> Vec<Event> { of.iter().map(event_from_export).collect() };
    assert_eq!(events(copied), events(&list(&exported, "events")[1..]));
}

#[tokio::test(flavor = "multi_thread")]
async fn long_conversations_are_exported_page_by_page() {
    let mut fixture = Fixture::own().await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    for commit in 0..COMMITS {
        // The second half is in the tail.
        if commit == COMMITS / 2 {
            let version = 1 + commit * EVENTS_OF_COMMIT;
            fixture.agent.wait_for_rows(&chat, version).await;
            fixture.stack.projector.stop().await;
        }
        let events = (0..EVENTS_OF_COMMIT).map(|index| user(format!("{commit} {index}")));
        fixture.agent.append(&chat, events.collect()).await;
    }
    let exported = export(&session, &chat).await;
    let events = list(&exported, "events");
    let recorded = usize::try_from(1 + COMMITS * EVENTS_OF_COMMIT).unwrap();
    assert_eq!(events.len(), recorded);
    assert_eq!(chain(events), text(&exported, "chain"));
    let csv = session.get(&format!("/api/chats/{chat}/export?format=csv")).await;
    let csv = String::from_utf8(csv.body.to_vec()).unwrap();
    let rows: Vec<&str> = csv.split_terminator("\r\n").collect();
    // With the names of the columns, and the chain.
    assert_eq!(rows.len(), recorded + 2);
    let last = rows.last().unwrap();
    assert!(last.contains(&format!(",Chain,,,,,{}", text(&exported, "chain"))), "{last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn table_cells_are_no_formulas() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    fixture.agent.append(&chat, vec![user("=HYPERLINK(\"x\",\"y\")"), assistant("-1")]).await;
    let csv = session.get(&format!("/api/chats/{chat}/export?format=csv")).await;
    assert!(csv.headers["content-type"].starts_with("text/csv"));
    let csv = String::from_utf8(csv.body.to_vec()).unwrap();
    assert!(csv.contains(",user,,,,\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\","), "{csv}");
    assert!(csv.contains(",assistant,,,,'-1,"), "{csv}");
    let answer = session.get(&format!("/api/chats/{chat}/export?format=xml")).await;
    assert_eq!(answer.status_and_code(), (400, "FIELD_MALFORMED".to_owned()));
}
