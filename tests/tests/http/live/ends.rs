//! How streams end: each end has a code, and says where to resume.

use serde_json::json;
use tests::events::user;

use super::{end, next_recorded, recorded_to, versions, watch, watch_chat};
use crate::fixture::{Fixture, begin};

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_ends_every_stream() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    let admins = format!("/v1/admin/conversations/{chat}/events/stream");
    let mut streams = [watch_chat(&session, &chat, 0).await, watch(&fixture.admin(), &admins).await];
    for stream in &mut streams {
        next_recorded(stream).await.unwrap();
    }
    session.erase(&format!("/api/chats/{chat}")).await;
    for stream in &mut streams {
        let end = end(stream).await;
        assert_eq!((&end["code"], &end["after"]), (&json!("CONVERSATION_ERASED"), &json!(1)));
    }
    let again = session.get(&format!("/api/chats/{chat}/events")).await;
    assert_eq!(again.status_and_code(), (404, "CONVERSATION_NOT_FOUND".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_owner_ends_the_stream_of_the_previous_one() {
    let fixture = Fixture::new().await;
    let (session, ada) = (fixture.issued_session().await, fixture.user("ada"));
    let chat = begin(&session, &json!({})).await;
    let mut previous = watch_chat(&session, &chat, 0).await;
    next_recorded(&mut previous).await.unwrap();
    let admins = format!("/v1/admin/conversations/{chat}/events/stream?after=1");
    let mut admins = watch(&fixture.admin(), &admins).await;
    let claim = json!({"sessionId": session.session_id()});
    let claimed = ada.post("/api/sessions/claim", &claim).await.ok(200);
    assert_eq!(claimed["claimed"], 1);
    fixture.agent.append(&chat, vec![user("private")]).await;
    let rest = previous.rest().await;
    let streamed: String = rest.iter().map(|event| event.data.as_str()).collect();
    assert!(!streamed.contains("ada") && !streamed.contains("private"), "{streamed}");
    let last = rest.last().unwrap();
    assert_eq!(last.name.as_deref(), Some("end"));
    assert!(last.data.contains("\"CONVERSATION_NOT_FOUND\""), "{last:?}");
    let seen = recorded_to(&mut admins, 3).await;
    assert_eq!(seen[0]["type"], "OwnerChanged");
    // The new owner reads the whole history, with the change.
    let mut new = watch_chat(&ada, &chat, 0).await;
    assert_eq!(versions(&recorded_to(&mut new, 3).await), [1, 2, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draining_gateway_says_so() {
    let mut fixture = Fixture::own().await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    let mut stream = watch_chat(&session, &chat, 0).await;
    next_recorded(&mut stream).await.unwrap();
    let (_, end) = tokio::join!(fixture.stack.gateway.stop(), end(&mut stream));
    assert_eq!((&end["code"], &end["after"]), (&json!("DRAINING"), &json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn old_streams_end_and_are_resumed() {
    let fixture = Fixture::with(|config| config.http.live.age_max_ms = 300).await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    let mut stream = watch_chat(&session, &chat, 0).await;
    let end = end(&mut stream).await;
    assert_eq!((&end["code"], &end["after"]), (&json!("STREAM_TOO_OLD"), &json!(1)));
    fixture.agent.append(&chat, vec![user("x")]).await;
    let resumed = session.with("last-event-id", "1");
    let mut stream = watch_chat(&resumed, &chat, 0).await;
    assert_eq!(versions(&recorded_to(&mut stream, 2).await), [2]);
}
