//! Origins: only pages that the API key allows can send requests and read answers.

use reqwest::Method;
use serde_json::Value;

use crate::server::{ORIGIN, header, serve};

#[tokio::test]
async fn only_pages_that_the_key_allows_may_ask_and_read() {
    let server = serve(|_| {}).await;
    let key = ("x-api-key", "k");
    for (headers, status, readable_by) in [
        (vec![key], 200, None),
        (vec![key, ("origin", ORIGIN)], 200, Some(ORIGIN)),
        (vec![key, ("origin", "https://evil.net")], 403, None),
        (vec![key, ("origin", "null")], 403, None),
        (vec![("origin", ORIGIN)], 401, None),
    ] {
        let answer = server.get(&headers).await;
        assert_eq!(answer.status(), status, "{headers:?}");
        let allowed = header(&answer, "access-control-allow-origin");
        assert_eq!(allowed, readable_by, "{headers:?}");
        let credentials = header(&answer, "access-control-allow-credentials");
        assert_eq!(credentials, readable_by.map(|_| "true"), "{headers:?}");
        if headers.len() == 2 {
            assert_eq!(header(&answer, "vary"), Some("origin"));
        }
        if status == 403 {
            let body: Value = answer.json().await.unwrap();
            assert_eq!(body["code"], "ORIGIN_NOT_ALLOWED");
        }
    }
}

#[tokio::test]
async fn preflights_are_answered_for_any_origin() {
    let served = serve(|_| {}).await;
    let origin = ("origin", "https://evil.net");
    let method = ("access-control-request-method", "POST");
    let preflight = served.send(Method::OPTIONS, &[origin, method]).await;
    assert_eq!(preflight.status(), 204);
    for (name, value) in [
        ("access-control-allow-origin", "https://evil.net"),
        ("access-control-allow-credentials", "true"),
        ("access-control-allow-methods", "GET, HEAD, POST, PUT, PATCH, DELETE"),
        ("access-control-max-age", "600"),
        ("vary", "origin, access-control-request-method, access-control-request-headers"),
    ] {
        assert_eq!(header(&preflight, name), Some(value), "{name}");
    }
    let allowed = header(&preflight, "access-control-allow-headers");
    assert!(allowed.is_some_and(|names| names.contains("x-api-key")));
    let requested = ("access-control-request-headers", "x-mine");
    let headers = [origin, method, requested];
    let preflight = served.send(Method::OPTIONS, &headers).await;
    let allowed = header(&preflight, "access-control-allow-headers");
    assert_eq!(allowed, Some("x-mine"));
}

#[tokio::test]
async fn other_requests_are_no_preflights() {
    let served = serve(|_| {}).await;
    let options = served.send(Method::OPTIONS, &[("origin", ORIGIN)]).await;
    assert_eq!(options.status(), 405);
    assert_eq!(header(&options, "allow"), Some("GET,HEAD"));
    let no_page = served.get(&[("x-api-key", "k")]).await;
    assert_eq!(header(&no_page, "vary"), None);
}
