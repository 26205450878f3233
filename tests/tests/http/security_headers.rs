//! Every answer has headers that prevent caching, content sniffing and referrers in browsers.

use reqwest::header::HeaderMap;
use reqwest::{Method, Response};
use serde_json::json;

use crate::fixture::{Fixture, begin};

/// The same for every caller, and revalidated before each use.
const LOADER: &str = "GET /widget/1/hansard-chat.js";

fn check(what: &str, headers: &HeaderMap) {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let cache_control = text("cache-control").unwrap_or_default();
    let directives: Vec<&str> = cache_control.split(',').map(str::trim).collect();
    let expected = if what.starts_with(LOADER) { "no-cache" } else { "no-store" };
    assert!(directives.contains(&expected), "{what}: {cache_control}");
    assert_eq!(text("x-content-type-options"), Some("nosniff"), "{what}");
    assert_eq!(text("referrer-policy"), Some("no-referrer"), "{what}");
}

/// Every operation of the description: its method and its path.
async fn operations(fixture: &Fixture) -> Vec<(Method, String)> {
    let document = fixture.stack.http_client().get("/openapi.json").await.json();
    let paths = document["paths"].as_object().unwrap().clone();
    let operations = paths.into_iter().flat_map(|(path, item)| {
        let methods: Vec<String> = item.as_object().unwrap().keys().cloned().collect();
        methods.into_iter().map(move |method| {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            (method, path.clone())
        })
    });
    operations.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_has_security_headers() {
    let fixture = Fixture::new().await;
    let owner = fixture.session("headers");
    let chat = begin(&owner, &json!({})).await;
    let send = async |what: String, request: reqwest::RequestBuilder| {
        let answer: Response = request.send().await.unwrap();
        check(&format!("{what}: {}", answer.status()), answer.headers());
    };
    let operations = operations(&fixture).await;
    assert!(operations.len() > 20, "{operations:?}");
    for (method, path) in operations {
        let path = path.replace("{id}", &chat);
        for client in [fixture.stack.http_client(), owner.clone(), fixture.admin()] {
            let request = client.request(method.clone(), &path);
            send(format!("{method} {path}"), request).await;
        }
        let preflight = fixture.stack.http_client().request(Method::OPTIONS, &path);
        let preflight =
            preflight.header("origin", "https://example.org").header("access-control-request-method", method.as_str());
        send(format!("preflight of {method} {path}"), preflight).await;
    }
    for path in ["/openapi.json", "/nowhere", "/api/chats/none"] {
        send(path.to_owned(), owner.request(Method::GET, path)).await;
    }
    let chat = begin(&owner, &json!({})).await;
    let path = format!("/api/chats/{chat}/messages");
    let stream = owner.request(Method::POST, &path).json(&json!({"content": "hello"})).send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    check("a stream of events", stream.headers());
}
