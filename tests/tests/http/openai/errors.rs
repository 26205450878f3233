//! Every error has OpenAI's format, also those of layers and of unknown routes.

use http_listener::config::RateLimit;
use serde_json::json;
use tests::eventually::eventually;
use tests::http_client::Answer;

use super::back_end;
use crate::fixture::{Fixture, bearer};

fn check(answer: &Answer, expected: (u16, &str, &str)) {
    assert_eq!(answer.headers["content-type"], "application/json");
    let body = answer.json();
    let error = &body["error"];
    assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "{body}");
    assert!(error["param"].is_null() || error["param"].is_string());
    let actual = (answer.status, error["type"].as_str(), error["code"].as_str());
    assert_eq!(actual, (expected.0, Some(expected.1), Some(expected.2)));
    assert_eq!(body.as_object().map(serde_json::Map::len), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_have_the_format_of_openai() {
    let fixture = Fixture::with(|config| {
        config.http.limits.key = RateLimit { per_second: 1, burst: 100 };
    })
    .await;
    let key = back_end(&fixture).await;
    let models = "/openai/v1/models";
    let nobody = fixture.stack.http_client();
    let no_key = (401, "authentication_error", "UNAUTHENTICATED");
    for caller in [&nobody, &bearer(&fixture.stack, "hsk_unknown"), &fixture.frontend()] {
        check(&caller.get(models).await, no_key);
    }
    let page = key.with("origin", "https://shop.example");
    let refused = (403, "permission_error", "ORIGIN_NOT_ALLOWED");
    check(&page.get(models).await, refused);
    let invalid = "invalid_request_error";
    check(&key.get("/openai/v1/none").await, (404, invalid, "ROUTE_NOT_FOUND"));
    let posted = key.post(models, &json!({})).await;
    check(&posted, (405, invalid, "METHOD_NOT_ALLOWED"));
    assert!(posted.headers.contains_key("allow"));
    // Other paths keep their format.
    let other = key.get("/v1/none").await;
    assert_eq!(other.status_and_code(), (404, "ROUTE_NOT_FOUND".to_owned()));
    eventually("the limit of the key", || async {
        let answer = key.get(models).await;
        (answer.status == 429).then_some(answer)
    })
    .await;
    let limited = key.get(models).await;
    check(&limited, (429, "rate_limit_error", "RATE_LIMITED"));
    assert_eq!(limited.headers["retry-after"], "1");
    // A retry helps after a second.
    assert!(!limited.headers.contains_key("x-should-retry"));
}
