//! Lists, searches and documents from a replica of Postgres whose replay is paused.

use serde_json::{Value, json};
use tests::dashboard::Browser;
use tests::eventually::eventually;
use tests::http_client::HttpClient;
use uuid::Uuid;
use wire::proto::operate::v1::{DashboardRole, Scope};

use crate::fixture::{Fixture, bearer, ids, list, text};

const HEADER: &str = "x-position-token";

/// Reads until the answer has this number of items: a gateway reads the primary until it has measured the replica.
async fn count(client: &HttpClient, read: &Read, expected: usize) {
    let what = format!("{expected} items of {read:?}");
    eventually(&what, || async { (read.items(client).await == expected).then_some(()) }).await;
}

/// A read that uses only rows.
#[derive(Debug)]
enum Read {
    Get(&'static str, &'static str),
    Post(&'static str, Value, &'static str),
}

impl Read {
    async fn items(&self, client: &HttpClient) -> usize {
        let (answer, member) = match self {
            Self::Get(path, member) => (client.get(path).await, member),
            Self::Post(path, body, member) => (client.post(path, body).await, member),
        };
        list(&answer.ok(200), member).len()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_of_rows_include_their_positions_while_the_replay_is_paused() {
    let (standby, mut fixture) = Fixture::with_replica().await;
    let session = fixture.session(&Uuid::now_v7().to_string());
    let key = fixture.operator.secret_key(&[Scope::Append, Scope::Read], &[fixture.agent_id]).await;
    let service = bearer(&fixture.stack, &key.secret);
    let reads = [
        (&session, Read::Get("/api/chats", "conversations")),
        (&session, Read::Get("/api/search?q=oak", "results")),
        (&service, documents()),
    ];
    let mut tokens = write(&session, &service, 1).await;
    for ((client, read), token) in reads.iter().zip(&tokens) {
        assert_eq!(read.items(&client.with(HEADER, token)).await, 1, "{read:?}");
        count(client, read, 1).await;
    }
    system_page(&fixture, ": ready, lag").await;
    devstack::test::pause_replay(fixture.stack.servers.postgres_mut(), &standby).await;

    tokens = write(&session, &service, 2).await;
    for ((client, read), token) in reads.iter().zip(&tokens) {
        // The replica answers, without the second one.
        count(client, read, 1).await;
        assert_eq!(read.items(&client.with(HEADER, token)).await, 2, "{read:?}");
    }
    let chats = session.with(HEADER, &tokens[0]).get("/api/chats").await.ok(200);
    for id in ids(&chats) {
        assert_eq!(session.get(&format!("/api/chats/{id}")).await.status, 200);
    }
    system_page(&fixture, "lagging; reads use the primary meanwhile").await;
    // What is erased is not listed by a read after the erasure, and not read at all.
    let id = ids(&chats).remove(1);
    let path = format!("/api/chats/{id}");
    let erased = session.delete(&path).await;
    assert_eq!(session.get(&path).await.status, 404);
    let after = session.with(HEADER, &erased.headers[HEADER]);
    assert_eq!(reads[0].1.items(&after).await, 1);
    drop(standby);
}

/// Reads the page of operators until it shows a text.
async fn system_page(fixture: &Fixture, expected: &str) {
    let (http, operator) = (fixture.stack.http_client(), &fixture.operator);
    let person = Browser::signed_in(http, operator, fixture.tenant, DashboardRole::Operator).await;
    eventually(expected, || async {
        let page = person.get("/dashboard/system").await.text();
        page.contains(expected).then_some(())
    })
    .await;
}

fn documents() -> Read {
    let body = json!({"namespacePrefix": ["trees"]});
    Read::Post("/v1/documents/search", body, "documents")
}

/// Creates a chat and a document. Returns the tokens of reads of the chat, again of the chat, and of the document.
async fn write(session: &HttpClient, service: &HttpClient, number: u8) -> [String; 3] {
    let body = json!({"title": format!("oak {number}")});
    let begun = session.post("/api/chats", &body).await;
    assert!(!text(&begun.ok(201), "id").is_empty());
    let chat = begun.headers[HEADER].clone();
    let body = json!({"namespace": ["trees"], "key": number.to_string(), "value": number});
    let put = service.send("PUT", "/v1/documents", Some(&body)).await;
    let document = put.headers[HEADER].clone();
    put.ok(200);
    [chat.clone(), chat, document]
}
