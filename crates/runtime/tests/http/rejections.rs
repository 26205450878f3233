//! Rejected requests and their problems.

use serde_json::Value;

use crate::raw::{check, exchange};
use crate::stack::{check_problem, client, h2_client, serve};

#[tokio::test]
async fn invalid_requests_get_problems_with_codes() {
    let stack = serve(|_| {}).await;
    for (path, status, code) in [
        ("/nowhere", 404, "ROUTE_NOT_FOUND"),
        ("/items", 405, "METHOD_NOT_ALLOWED"),
        ("/items/x", 400, "FIELD_MALFORMED"),
        ("/items/1?limit=256", 400, "FIELD_MALFORMED"),
    ] {
        check_problem(stack.get(path).await, status, code).await;
    }
    assert_eq!(stack.get("/items").await.headers()["allow"], "POST");
    let answer = stack.get("/items/1?limit=255").await;
    assert_eq!(answer.text().await.unwrap(), "256");
}

#[tokio::test]
async fn the_problem_of_an_invalid_body_names_its_field() {
    let stack = serve(|_| {}).await;
    let json = Some("application/json");
    for (content_type, body, status, code, field) in [
        (None, "{}", 415, "CONTENT_TYPE_NOT_JSON", None),
        (Some("text/plain"), "{}", 415, "CONTENT_TYPE_NOT_JSON", None),
        (json, "", 400, "JSON_MALFORMED", None),
        (json, "{\"name\":\"x\"", 400, "JSON_MALFORMED", None),
        (json, "{\"name\":\"x\"} {}", 400, "JSON_MALFORMED", None),
        (json, "{}", 400, "FIELD_MISSING", Some("name")),
        (json, "{\"name\":1}", 400, "FIELD_MALFORMED", Some("name")),
        (json, r#"{"name":"","x":1}"#, 400, "FIELD_UNKNOWN", Some("x")),
    ] {
        let mut request = client().post(stack.url("/items")).body(body);
        if let Some(content_type) = content_type {
            request = request.header("content-type", content_type);
        }
        let answer = stack.send(request).await;
        assert_eq!(answer.status(), status, "{body}");
        let problem: Value = answer.json().await.unwrap();
        assert_eq!(problem["code"], code, "{body}");
        assert_eq!(problem["field"].as_str(), field, "{body}");
    }
}

#[tokio::test]
async fn a_panic_gets_a_response_and_the_connection_stays_open() {
    let stack = serve(|_| {}).await;
    for client in [client(), h2_client()] {
        for _ in 0..3 {
            let answer = stack.send(client.get(stack.url("/panic"))).await;
            let id = answer.headers()["x-request-id"].clone();
            assert!(!id.is_empty());
            let text = answer.text().await.unwrap();
            assert!(text.contains("\"INTERNAL\"") && !text.contains("secret"), "{text}");
        }
    }
    // Two requests on one connection.
    let both = "GET /panic HTTP/1.1\r\n\r\nGET /hello HTTP/1.1\r\nconnection: close\r\n\r\n";
    let answer = exchange(&stack, both.as_bytes()).await;
    check(&answer, 500, "\r\n\r\nhello");
}

#[tokio::test]
async fn a_panic_in_a_body_ends_only_its_response() {
    let stack = serve(|_| {}).await;
    let client = h2_client();
    let held = tokio::spawn(client.get(stack.url("/hold")).send());
    stack.held(1).await;
    // The headers may be sent before the panic.
    let broken = client.get(stack.url("/panic-body")).send().await;
    if let Ok(broken) = broken {
        assert!(broken.text().await.is_err());
    }
    stack.gate.add_permits(1);
    let answer = held.await.unwrap().unwrap();
    assert_eq!(answer.text().await.unwrap(), "held");
}

#[tokio::test]
async fn head_and_options_are_answered_without_a_body() {
    let stack = serve(|_| {}).await;
    let head = "HEAD /hello HTTP/1.1\r\nconnection: close\r\n\r\n";
    let answer = exchange(&stack, head.as_bytes()).await;
    check(&answer, 200, "content-length: 5");
    assert!(answer.ends_with("\r\n\r\n"), "{answer}");
    let options = "OPTIONS /hello HTTP/1.1\r\nconnection: close\r\n\r\n";
    let answer = exchange(&stack, options.as_bytes()).await;
    check(&answer, 405, "allow: GET,HEAD");
}

#[tokio::test]
async fn every_response_has_the_request_id() {
    let stack = serve(|_| {}).await;
    for (given, kept) in [("mine-1", true), ("no id", false)] {
        let request = client().get(stack.url("/id")).header("x-request-id", given);
        let answer = stack.send(request).await;
        let id = answer.headers()["x-request-id"].clone();
        assert_eq!(id == given, kept, "{given} gave {id:?}");
        assert_eq!(answer.text().await.unwrap(), id);
    }
}

#[tokio::test]
async fn every_response_has_security_headers() {
    let stack = serve(|c| c.header_bytes_max = 1024).await;
    for (path, pad) in [
        ("/hello", 0),
        ("/nowhere", 0),
        ("/items", 0),
        ("/panic", 0),
        ("/stream", 0),
        ("/hello?reject", 0),
        ("/hello", 1024),
    ] {
        let request = h2_client().get(stack.url(path)).header("x-pad", "x".repeat(pad));
        let answer = stack.send(request).await;
        for (name, value) in
            [("cache-control", "no-store"), ("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer")]
        {
            assert_eq!(answer.headers()[name], value, "{path}");
        }
    }
}
