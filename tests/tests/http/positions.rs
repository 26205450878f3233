//! The header `x-position-token`, in answers and in requests.

use serde_json::{Value, json};
use tests::http_client::{Answer, HttpClient};
use uuid::Uuid;
use wire::token::{PositionToken, RecordId};

use crate::fixture::{Fixture, ids, text};

const HEADER: &str = "x-position-token";

fn session(fixture: &Fixture) -> HttpClient {
    fixture.session(&Uuid::now_v7().to_string())
}

async fn begin(client: &HttpClient) -> (String, String) {
    let begun = client.post("/api/chats", &json!({})).await;
    let id = text(&begun.ok(201), "id").to_owned();
    (id, begun.headers[HEADER].clone())
}

fn token(answer: &Answer) -> PositionToken {
    let bytes = answer.headers[HEADER].as_str();
    decode(bytes)
}

fn decode(text: &str) -> PositionToken {
    let record = |id| PositionToken::decode(text, id);
    // The token contains the record's id.
    let bytes = base64_bytes(text);
    record(RecordId(bytes[1..9].try_into().unwrap())).unwrap()
}

fn base64_bytes(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    let engine = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    engine.decode(text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_carry_position_tokens() {
    let fixture = Fixture::new().await;
    let client = session(&fixture);
    let (id, begun) = begin(&client).await;
    assert_eq!(decode(&begun).version.0, 1);
    let path = format!("/api/chats/{id}");
    let read = client.get(&path).await;
    assert_eq!(token(&read), decode(&begun));
    let changed = client.patch(&path, &json!({"title": "a"})).await;
    assert_eq!(token(&changed).version.0, 2);
    let admin = fixture.admin();
    let seen = admin.get(&format!("/v1/admin/conversations/{id}")).await;
    assert_eq!(token(&seen), token(&changed));
    let erased = client.erase(&path).await;
    assert_eq!(token(&erased).version.0, 3);
    let missing = client.get(&path).await;
    assert_eq!((missing.status, missing.headers.get(HEADER)), (404, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn listings_include_the_position_of_their_token() {
    let mut fixture = Fixture::own().await;
    let client = session(&fixture);
    let listed = async |token: &str| client.with(HEADER, token).get("/api/chats").await;
    let (id, begun) = begin(&client).await;
    assert_eq!(ids(&listed(&begun).await.ok(200)), [id]);
    fixture.stack.projector.stop().await;
    let (id, begun) = begin(&client).await;
    let behind = listed(&begun).await;
    assert_eq!(behind.status_and_code(), (503, "POSITION_NOT_REACHED".to_owned()));
    // A read of one chat needs no rows.
    let fenced = client.with(HEADER, &begun);
    let path = format!("/api/chats/{id}");
    assert_eq!(fenced.get(&path).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_tokens_are_rejected() {
    let fixture = Fixture::new().await;
    let client = session(&fixture);
    let (id, begun) = begin(&client).await;
    let foreign = PositionToken { record: RecordId([0; 8]), ..decode(&begun) };
    let nine = [begun.as_str(); 9].join(",");
    let cases = [
        ("x", "POSITION_TOKEN_MALFORMED"),
        (&foreign.encode(), "POSITION_TOKEN_OF_OTHER_RECORD"),
        (&nine, "FIELD_OUT_OF_RANGE"),
    ];
    for (token, code) in cases {
        let client = client.with(HEADER, token);
        for path in ["/api/chats".to_owned(), format!("/api/chats/{id}")] {
            let refused = client.get(&path).await;
            assert_eq!(refused.status_and_code(), (400, code.to_owned()), "{path}");
            let body: Value = refused.json();
            assert_eq!(body["field"], HEADER, "{body}");
        }
    }
    // Eight equal tokens are accepted.
    let eight = [begun.as_str(); 8].join(", ");
    let fenced = client.with(HEADER, &eight);
    assert_eq!(fenced.get(&format!("/api/chats/{id}")).await.status, 200);
}
