//! The header `x-position-token`: what an answer names, and what a request gives back.

use serde_json::{Value, json};
use tests::door::{Answer, Door};
use uuid::Uuid;
use wire::token::{PositionToken, RecordId};

use crate::ground::{Ground, ids, text};

const HEADER: &str = "x-position-token";

fn session(ground: &Ground) -> Door {
    ground.session(&Uuid::now_v7().to_string())
}

async fn begin(door: &Door) -> (String, String) {
    let begun = door.post("/api/chats", &json!({})).await;
    let id = text(&begun.ok(201), "id").to_owned();
    (id, begun.headers[HEADER].clone())
}

fn token(answer: &Answer) -> PositionToken {
    let bytes = answer.headers[HEADER].as_str();
    decoded(bytes)
}

fn decoded(text: &str) -> PositionToken {
    let record = |id| PositionToken::decode(text, id);
    // The record's id is in the token.
    let bytes = base64_bytes(text);
    record(RecordId(bytes[1..9].try_into().unwrap())).unwrap()
}

fn base64_bytes(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    let engine = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    engine.decode(text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_name_what_they_wrote_or_read() {
    let ground = Ground::new().await;
    let door = session(&ground);
    let (id, begun) = begin(&door).await;
    assert_eq!(decoded(&begun).version.0, 1);
    let path = format!("/api/chats/{id}");
    let read = door.get(&path).await;
    assert_eq!(token(&read), decoded(&begun));
    let changed = door.patch(&path, &json!({"title": "a"})).await;
    assert_eq!(token(&changed).version.0, 2);
    let admin = ground.admin();
    let seen = admin.get(&format!("/v1/admin/conversations/{id}")).await;
    assert_eq!(token(&seen), token(&changed));
    let erased = door.delete(&path).await;
    assert_eq!((erased.status, token(&erased).version.0), (204, 3));
    let missing = door.get(&path).await;
    assert_eq!((missing.status, missing.headers.get(HEADER)), (404, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_with_a_token_holds_what_it_names() {
    let mut ground = Ground::new().await;
    let door = session(&ground);
    let listed = async |token: &str| door.with(HEADER, token).get("/api/chats").await;
    let (id, begun) = begin(&door).await;
    assert_eq!(ids(&listed(&begun).await.ok(200)), [id]);
    ground.stack.projector.stop().await;
    let (id, begun) = begin(&door).await;
    let behind = listed(&begun).await;
    assert_eq!(behind.told(), (503, "POSITION_NOT_REACHED".to_owned()));
    // One chat needs no rows.
    let fenced = door.with(HEADER, &begun);
    let path = format!("/api/chats/{id}");
    assert_eq!(fenced.get(&path).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_are_none_are_refused() {
    let ground = Ground::new().await;
    let door = session(&ground);
    let (id, begun) = begin(&door).await;
    let foreign = PositionToken {
        record: RecordId([0; 8]),
        ..decoded(&begun)
    };
    let nine = [begun.as_str(); 9].join(",");
    let cases = [
        ("x", "POSITION_TOKEN_MALFORMED"),
        (&foreign.encode(), "POSITION_TOKEN_OF_OTHER_RECORD"),
        (&nine, "FIELD_OUT_OF_RANGE"),
    ];
    for (token, code) in cases {
        let door = door.with(HEADER, token);
        for path in ["/api/chats".to_owned(), format!("/api/chats/{id}")] {
            let refused = door.get(&path).await;
            assert_eq!(refused.told(), (400, code.to_owned()), "{path}");
            let body: Value = refused.json();
            assert_eq!(body["field"], HEADER, "{body}");
        }
    }
    // The same eight times is taken.
    let eight = [begun.as_str(); 8].join(", ");
    let fenced = door.with(HEADER, &eight);
    assert_eq!(fenced.get(&format!("/api/chats/{id}")).await.status, 200);
}
