//! A conversation that does not exist and one of somebody else look alike.

use serde_json::{Value, json};
use tests::http_client::HttpClient;
use wire::proto::operate::v1::Scope;

use super::{ALL, PATH, back_end, created, error, items, message};
use crate::fixture::{Fixture, bearer, text};

#[tokio::test(flavor = "multi_thread")]
async fn foreign_conversations_look_missing() {
    let fixture = Fixture::new().await;
    let client = back_end(&fixture, &ALL).await;
    let ada = client.with("x-hansard-user", "ada");
    let path = created(&ada, json!([message("one")])).await;
    let item = text(&items(&ada, &path).await[0], "id").to_owned();
    let other = fixture.operator.secret_key(&ALL, &[fixture.other_agent_id]).await;
    let foreign = fixture.operator.secret_key(&ALL, &[fixture.foreign_agent_id]).await;
    for stranger in [
        client.with("x-hansard-user", "bob"),
        bearer(&fixture.stack, &other.secret),
        bearer(&fixture.stack, &foreign.secret),
    ] {
        for (method, rest, body) in operations(&item) {
            let answer = stranger.send(method, &format!("{path}{rest}"), body.as_ref()).await;
            let missing = stranger.send(method, &format!("{PATH}/conv_none{rest}"), body.as_ref()).await;
            assert_eq!((answer.status, answer.json()), (404, missing.json()), "{method} {rest}");
        }
    }
    assert_eq!(items(&ada, &path).await.len(), 1);
    let forged = item.replacen('0', "1", 1);
    assert_eq!(client.get(&format!("{path}/items/{forged}")).await.status, 404);
    pages_and_scopes(&fixture, &client, &path).await;
}

fn operations(item: &str) -> Vec<(&'static str, String, Option<Value>)> {
    let items = json!({"items": [message("x")]});
    vec![
        ("GET", String::new(), None),
        ("POST", String::new(), Some(json!({"metadata": {}}))),
        ("DELETE", String::new(), None),
        ("GET", "/items".to_owned(), None),
        ("POST", "/items".to_owned(), Some(items)),
        ("GET", format!("/items/{item}"), None),
        ("DELETE", format!("/items/{item}"), None),
    ]
}

/// A page cannot use a key, and a key without a scope learns what it lacks.
async fn pages_and_scopes(fixture: &Fixture, client: &HttpClient, path: &str) {
    let page = client.with("origin", "https://evil.example");
    assert_eq!(page.get(path).await.status, 403);
    let anonymous = fixture.stack.http_client().get(path).await;
    assert_eq!(error(&anonymous).0, 401);
    assert_eq!(anonymous.json()["error"]["type"], "authentication_error");
    let reader = back_end(fixture, &[Scope::Read]).await;
    assert_eq!(reader.get(path).await.status, 200);
    let body = json!({"items": [message("x")]});
    for answer in
        [reader.post(PATH, &body).await, reader.post(&format!("{path}/items"), &body).await, reader.delete(path).await]
    {
        assert_eq!((answer.status, answer.json()["error"]["type"].clone()), (403, json!("permission_error")));
    }
}
