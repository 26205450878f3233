//! `subscriptions/listen`: notifications of changed conversations, to callers who may read them.

use reqwest::Method;
use serde_json::{Value, json};
use tests::events::user;
use tests::eventually::eventually;
use wire::proto::operate::v1::Scope;

use super::{McpClient, REVISIONS};
use crate::fixture::{Fixture, bearer, begin, text};
use crate::turns::sse::EventStream;

const LISTEN: &str = "subscriptions/listen";

fn uri(id: &str) -> String {
    format!("hansard://conversations/{id}")
}

/// Opens a stream of notifications.
async fn listen(mcp: &McpClient, uris: &[String]) -> EventStream {
    let params = json!({"notifications": {"resourceSubscriptions": uris, "toolsListChanged": true}});
    let (http, body) = mcp.message(LISTEN, params);
    let stream = EventStream::open(http.request(Method::POST, "/mcp").json(&body)).await;
    assert_eq!(stream.status, 200);
    stream
}

/// The next message; `None` at the end of the stream.
async fn next(stream: &mut EventStream) -> Option<Value> {
    loop {
        let event = stream.next().await?;
        if !event.data.is_empty() {
            return serde_json::from_str(&event.data).ok();
        }
    }
}

/// The accepted resources, of the first message.
async fn acknowledged(stream: &mut EventStream) -> Value {
    let message = next(stream).await.expect("an acknowledgment");
    assert_eq!(message["method"], "notifications/subscriptions/acknowledged");
    let accepted = &message["params"]["notifications"];
    assert_eq!(accepted.get("toolsListChanged"), None::<&Value>);
    accepted["resourceSubscriptions"].clone()
}

/// The resource of the next notification.
async fn updated(stream: &mut EventStream) -> String {
    let message = next(stream).await.expect("a notification");
    assert_eq!(message["method"], "notifications/resources/updated", "{message}");
    let params = &message["params"];
    assert_eq!(params["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    text(params, "uri").to_owned()
}

/// Opens a stream, and reads the first notification of each resource.
async fn listening(mcp: &McpClient, uris: &[String]) -> EventStream {
    let mut stream = listen(mcp, uris).await;
    assert_eq!(acknowledged(&mut stream).await, json!(uris));
    let mut first = Vec::new();
    for _ in uris {
        first.push(updated(&mut stream).await);
    }
    first.sort();
    let mut expected = uris.to_vec();
    expected.sort();
    assert_eq!(first, expected);
    stream
}

/// The last message, after notifications.
async fn last(stream: &mut EventStream) -> Value {
    let mut last = Value::Null;
    while let Some(message) = next(stream).await {
        last = message;
    }
    last
}

fn user_of(fixture: &Fixture, id: &str) -> McpClient {
    McpClient::new(&fixture.user(id), REVISIONS[1])
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_listed_conversations_are_notified() {
    let fixture = Fixture::new().await;
    let mcp = McpClient::of_service(&fixture, REVISIONS[1]).await;
    let (one, two) = (mcp.created("ada").await, mcp.created("bob").await);
    let other = mcp.created("eve").await;
    let mut stream = listening(&mcp, &[uri(&one), uri(&two)]).await;
    let administrator = McpClient::new(&fixture.admin(), REVISIONS[1]);
    let mut seen_by_admin = listening(&administrator, &[uri(&two)]).await;
    mcp.record(&other, "unseen", "unseen").await;
    mcp.record(&one, "question", "answer").await;
    assert_eq!(updated(&mut stream).await, uri(&one));
    mcp.record(&two, "question", "answer").await;
    assert_eq!(updated(&mut stream).await, uri(&two));
    assert_eq!(updated(&mut seen_by_admin).await, uri(&two));
    // Each notification follows the change: a read includes it.
    fixture.agent.append(&two, vec![user("from elsewhere")]).await;
    assert_eq!(updated(&mut stream).await, uri(&two));
    let read = mcp.result("resources/read", json!({"uri": uri(&two)})).await;
    assert!(read.to_string().contains("from elsewhere"), "{read}");
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_and_missing_conversations_are_the_same_error() {
    let fixture = Fixture::new().await;
    let mcp = McpClient::of_service(&fixture, REVISIONS[1]).await;
    let id = mcp.created("ada").await;
    let token = fixture.operator.token(&[Scope::Read], fixture.foreign_tenant).await;
    let foreign = bearer(&fixture.stack, &token.secret);
    for caller in [
        McpClient::new(&foreign.with("x-agent-id", fixture.foreign_agent_id), REVISIONS[1]),
        McpClient::new(&foreign.with("x-agent-id", fixture.agent_id), REVISIONS[1]),
        McpClient::new(&fixture.foreign_admin(), REVISIONS[1]),
        user_of(&fixture, "bob"),
    ] {
        let mut errors = Vec::new();
        for named in [id.as_str(), "missing"] {
            let mut stream = listen(&caller, &[uri(named)]).await;
            acknowledged(&mut stream).await;
            let error = last(&mut stream).await["error"].to_string();
            errors.push(error.replace(named, ""));
        }
        assert!(errors[0].contains("-32602"), "{errors:?}");
        assert_eq!(errors[0], errors[1]);
    }
    // One wrong resource is enough, whatever it is.
    for wrong in ["hansard://users/ada", "file:///etc/passwd", ""] {
        let mut stream = listen(&mcp, &[uri(&id), wrong.to_owned()]).await;
        acknowledged(&mut stream).await;
        assert_eq!(last(&mut stream).await["error"]["code"], -32602, "{wrong}");
    }
    let token = fixture.operator.token(&[Scope::Append], fixture.tenant).await;
    let appender = bearer(&fixture.stack, &token.secret).with("x-agent-id", fixture.agent_id);
    let mut stream = listen(&McpClient::new(&appender, REVISIONS[1]), &[uri(&id)]).await;
    acknowledged(&mut stream).await;
    assert_eq!(last(&mut stream).await["error"]["code"], -32602);
}

/// A caller that may not read a conversation any more gets one last notification, and then the end.
#[tokio::test(flavor = "multi_thread")]
async fn lost_and_erased_conversations_end_the_stream() {
    let fixture = Fixture::new().await;
    let (ada, session) = (fixture.user("ada"), fixture.issued_session().await);
    let released = begin(&ada, &json!({})).await;
    let mcp = user_of(&fixture, "ada");
    let mut stream = listening(&mcp, &[uri(&released)]).await;
    let body = json!({"chatId": released, "sessionId": session.session_id()});
    ada.post("/api/sessions/release", &body).await.ok(204);
    let end = last(&mut stream).await;
    assert_eq!(end["result"]["resultType"], "complete", "{end}");
    let erased = begin(&ada, &json!({})).await;
    let kept = begin(&ada, &json!({})).await;
    let mut stream = listening(&mcp, &[uri(&erased), uri(&kept)]).await;
    ada.erase(&format!("/api/chats/{erased}")).await;
    assert_eq!(updated(&mut stream).await, uri(&erased));
    assert_eq!(last(&mut stream).await["result"]["resultType"], "complete");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_has_at_most_16_resources() {
    let fixture = Fixture::new().await;
    let mcp = McpClient::of_service(&fixture, REVISIONS[1]).await;
    let mut uris = Vec::new();
    for _ in 0..17 {
        uris.push(uri(&mcp.created("ada").await));
    }
    let _most = listening(&mcp, &uris[..16]).await;
    let mut over = listen(&mcp, &uris).await;
    acknowledged(&mut over).await;
    assert_eq!(last(&mut over).await["error"]["code"], -32602);
    // The same one twice counts once.
    let mut twice = listen(&mcp, &[&uris[..16], &uris[..1]].concat()).await;
    acknowledged(&mut twice).await;
    updated(&mut twice).await;
    let mut nothing = listen(&mcp, &[]).await;
    acknowledged(&mut nothing).await;
    assert_eq!(last(&mut nothing).await["result"]["resultType"], "complete");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_resource_is_a_live_stream_of_the_address() {
    let fixture = Fixture::with(|config| config.http.live.per_address_max = 2).await;
    let mcp = McpClient::of_service(&fixture, REVISIONS[1]).await;
    let (one, two) = (uri(&mcp.created("ada").await), uri(&mcp.created("ada").await));
    let both = listening(&mcp, &[one.clone(), two]).await;
    let mut third = listen(&mcp, std::slice::from_ref(&one)).await;
    acknowledged(&mut third).await;
    let refused = last(&mut third).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("2 live streams"), "{refused}");
    // A closed stream is free again.
    drop(both);
    eventually("a free place", || async {
        let mut stream = listen(&mcp, std::slice::from_ref(&one)).await;
        acknowledged(&mut stream).await;
        let message = next(&mut stream).await?;
        message.get("error").is_none().then_some(())
    })
    .await;
}

/// A stream outlives the timeout of requests, and ends at its own age.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_at_its_age() {
    let fixture = Fixture::with(|config| {
        config.http.server.request_timeout_ms = 500;
        config.http.live.age_max_ms = 2_000;
        config.http.live.heartbeat_ms = 100;
    })
    .await;
    let mcp = McpClient::of_service(&fixture, REVISIONS[1]).await;
    let id = mcp.created("ada").await;
    let mut stream = listening(&mcp, &[uri(&id)]).await;
    let end = last(&mut stream).await;
    assert_eq!(end["result"]["resultType"], "complete", "{end}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_stateless_revision_has_subscriptions() {
    let fixture = Fixture::new().await;
    let [legacy, modern] = REVISIONS;
    let mcp = McpClient::of_service(&fixture, legacy).await;
    let asked = json!({
        "protocolVersion": legacy, "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let handshake = mcp.result("initialize", asked).await;
    assert_eq!(handshake["capabilities"]["resources"], json!({}));
    let one = json!({"uri": uri("missing")});
    assert_eq!(mcp.error_code("resources/subscribe", one).await, -32601);
    let filter = json!({"notifications": {"resourceSubscriptions": []}});
    assert_eq!(mcp.error_code(LISTEN, filter).await, -32601);
    let mcp = McpClient::of_service(&fixture, modern).await;
    let found = mcp.result("server/discover", json!({})).await;
    assert_eq!(found["capabilities"]["resources"], json!({"subscribe": true}));
}
