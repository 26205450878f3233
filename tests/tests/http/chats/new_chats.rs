//! Every endpoint that creates a chat accepts a title and the client's context, with the same bounds.

use runtime::http::HttpConfig;
use serde_json::{Value, json};
use tests::eventually::eventually;
use tests::http_client::HttpClient;

use crate::fixture::{Fixture, begin, text};

/// Maximum bytes of a title.
const TITLE_BYTES_MAX: usize = 1_024;
/// Maximum bytes of a text of the context.
const TEXT_BYTES_MAX: usize = 4 * 1024;

/// An endpoint that creates chats.
struct Endpoint {
    path: String,
    /// The members that every request has.
    body: Value,
    status: u16,
    /// The member of the answer with the id of the new chat; `None`: the body names the id.
    id_member: Option<&'static str>,
}

impl Endpoint {
    /// Sends the members; returns the answer's status, code, field, and the chat as it is read.
    async fn create(&self, client: &HttpClient, id: &str, members: Value) -> (u16, String, Value) {
        let mut body = self.body.clone();
        let object = body.as_object_mut().unwrap();
        object.extend(members.as_object().unwrap().clone());
        if self.id_member.is_none() {
            object.insert("id".to_owned(), json!(id));
        }
        let answer = client.post(&self.path, &body).await;
        if answer.status != self.status {
            let (status, code) = answer.status_and_code();
            return (status, code, answer.json()["field"].clone());
        }
        let id = match self.id_member {
            Some(member) => text(&answer.json(), member).to_owned(),
            None => id.to_owned(),
        };
        let chat = client.get(&format!("/api/chats/{id}")).await.ok(200);
        let seen = json!([chat["title"], chat["context"]]);
        (answer.status, String::new(), seen)
    }
}

fn endpoints(parent: &str) -> Vec<Endpoint> {
    let message = json!({"id": "m", "role": "user", "parts": [{"type": "text", "text": "hello"}]});
    let created = |path: &str, id_member| Endpoint {
        path: path.to_owned(),
        body: json!({}),
        status: 201,
        id_member: Some(id_member),
    };
    vec![
        created("/api/chats", "id"),
        created(&format!("/api/chats/{parent}/fork"), "id"),
        created("/v1/chat/sessions", "session_id"),
        Endpoint { path: "/api/chat".to_owned(), body: json!({"messages": [message]}), status: 200, id_member: None },
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_new_chat_has_a_title_and_a_context() {
    let fixture = Fixture::new().await;
    let client = fixture.session("s");
    let parent = begin(&client, &json!({"title": "parent"})).await;
    for (index, endpoint) in endpoints(&parent).into_iter().enumerate() {
        let check = async |members: Value, expected: (u16, &str, Value)| {
            let id = format!("chat-{index}-{}", uuid::Uuid::now_v7());
            let (status, code, seen) = endpoint.create(&client, &id, members).await;
            let actual = (status, code.as_str(), seen);
            assert_eq!(actual, expected, "{}", endpoint.path);
        };
        let done = endpoint.status;
        let context = json!({"pageUrl": "https://a.example/", "timezone": "Europe/London", "customMetadata": {"n": 1}});
        let both = json!({"title": "Hello", "context": context});
        check(both, (done, "", json!(["Hello", context]))).await;
        check(json!({}), (done, "", json!([null, null]))).await;
        check(json!({"title": null, "context": null}), (done, "", json!([null, null]))).await;
        let (most, more) = ("t".repeat(TITLE_BYTES_MAX), "t".repeat(TITLE_BYTES_MAX + 1));
        check(json!({"title": most}), (done, "", json!([most, null]))).await;
        check(json!({"title": more}), (400, "FIELD_TOO_LONG", json!("title"))).await;
        let (most, more) = ("u".repeat(TEXT_BYTES_MAX), "u".repeat(TEXT_BYTES_MAX + 1));
        let page = json!({"pageUrl": most});
        check(json!({"context": page}), (done, "", json!([null, page]))).await;
        let page = json!({"context": {"pageUrl": more}});
        check(page, (400, "FIELD_TOO_LONG", json!("context.pageUrl"))).await;
        let unknown = json!({"context": {"secret": 1}});
        check(unknown, (400, "FIELD_UNKNOWN", json!("context.secret"))).await;
        let number = json!({"title": 1});
        check(number, (400, "FIELD_MALFORMED", json!("title"))).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn later_messages_and_other_callers_do_not_change_a_title() {
    let fixture = Fixture::new().await;
    let client = fixture.session("s");
    let say = |id: &str, title: Value| {
        let message = json!({"id": id, "role": "user", "parts": [{"type": "text", "text": "hello"}]});
        json!({"id": "chat", "messages": [message], "title": title})
    };
    let first = client.post("/api/chat", &say("m1", json!("first"))).await;
    assert_eq!(first.status, 200);
    eventually("the end of the answer", || async {
        let stream = client.get("/api/chats/chat/stream").await;
        (stream.status == 204).then_some(())
    })
    .await;
    // The chat exists: its title is not read, not even a malformed one.
    let second = client.post("/api/chat", &say("m2", json!(7))).await;
    assert_eq!(second.status, 200);
    let other = fixture.session("other");
    let foreign = other.post("/api/chat", &say("m3", json!("mine"))).await;
    assert_eq!(foreign.status, 200);
    assert_eq!(other.get("/api/chats/chat").await.ok(200)["title"], "mine");
    let chat = client.get("/api/chats/chat").await.ok(200);
    assert_eq!(chat["title"], "first");
    // A body without content needs no content type; another body does.
    let sessions = client.request(reqwest::Method::POST, "/v1/chat/sessions");
    assert_eq!(sessions.send().await.unwrap().status(), 201);
    let sessions = client.request(reqwest::Method::POST, "/v1/chat/sessions");
    assert_eq!(sessions.body("{}").send().await.unwrap().status(), 415);
    let bytes_max = HttpConfig::default().body_bytes_max;
    let padded = |bytes: usize| json!({"title": "x".repeat(bytes - r#"{"title":""}"#.len())});
    for (bytes, status) in [(bytes_max, 400), (bytes_max + 1, 413)] {
        let answer = client.post("/v1/chat/sessions", &padded(bytes)).await;
        assert_eq!(answer.status, status, "{bytes}");
    }
}
