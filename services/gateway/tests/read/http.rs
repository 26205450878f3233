//! The HTTP listener of a gateway: public endpoints, unknown routes, and shutdown.

use std::net::SocketAddr;
use std::time::Duration;

use reqwest::{Client, Method, Response};
use serde_json::Value;
use tokio::time::{Instant, timeout};

use crate::stack::{run, shared};

const DEADLINE: Duration = Duration::from_secs(30);

/// A client. Rustls needs a default provider, because this process has more than one.
fn client() -> Client {
    // The first call wins; all calls install the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().build().unwrap()
}

async fn send(addr: SocketAddr, method: Method, path: &str, headers: &[(&str, &str)]) -> Response {
    let client = client();
    let request = client.request(method, format!("http://{addr}{path}"));
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    timeout(DEADLINE, request.send()).await.unwrap().unwrap()
}

async fn get(addr: SocketAddr, path: &str) -> Response {
    send(addr, Method::GET, path, &[]).await
}

async fn wait_until_ready(addr: SocketAddr) {
    let deadline = Instant::now() + DEADLINE;
    while get(addr, "/healthz").await.status() != 200 {
        assert!(Instant::now() < deadline, "the gateway is never ready");
    }
}

#[test]
fn health_limits_and_the_description_are_public() {
    run(async {
        let stack = shared().await;
        let (addr, shutdown) = stack.http_with(|_| {}).await;
        wait_until_ready(addr).await;
        let limits: Value = get(addr, "/v1/limits").await.json().await.unwrap();
        assert_eq!(limits["request"]["body_bytes_max"], 1024 * 1024);
        assert_eq!(limits["content"]["title_bytes_max"], 1_024);
        assert_eq!(limits["rates"]["key"]["per_second"], 500);
        let document: Value = get(addr, "/openapi.json").await.json().await.unwrap();
        let operation = &document["paths"]["/v1/limits"]["get"];
        let problem = &operation["responses"]["default"]["content"]["application/problem+json"];
        assert_eq!(problem["schema"]["$ref"], "#/components/schemas/Problem");
        assert!(document["components"]["schemas"]["Problem"].is_object());
        let schemes = &document["components"]["securitySchemes"];
        assert_eq!(schemes["api_key"]["name"], "x-api-key");
        assert_eq!(schemes["user_token"]["name"], "x-user-token");
        assert_eq!(schemes["bearer"]["scheme"], "bearer");
        shutdown.begin();
        shutdown.wait(DEADLINE).await.unwrap();
        let request = client().get(format!("http://{addr}/healthz"));
        assert!(request.send().await.is_err());
    });
}

#[test]
fn unknown_routes_and_methods_are_problems() {
    run(async {
        let stack = shared().await;
        let (addr, shutdown) = stack.http_with(|_| {}).await;
        for (method, path, status, code) in [
            (Method::GET, "/nowhere", 404, Some("ROUTE_NOT_FOUND")),
            (Method::POST, "/v1/limits", 405, Some("METHOD_NOT_ALLOWED")),
            (Method::OPTIONS, "/v1/limits", 405, Some("METHOD_NOT_ALLOWED")),
            (Method::HEAD, "/v1/limits", 200, None),
        ] {
            let answer = send(addr, method.clone(), path, &[]).await;
            assert_eq!(answer.status(), status, "{method} {path}");
            assert!(answer.headers().contains_key("x-request-id"));
            let body: Option<Value> = answer.json().await.ok();
            let found = body.as_ref().and_then(|body| body["code"].as_str());
            assert_eq!(found, code, "{method} {path}");
        }
        shutdown.begin();
    });
}

#[test]
fn a_preflight_is_answered_for_any_page() {
    run(async {
        let stack = shared().await;
        let (addr, shutdown) = stack.http_with(|_| {}).await;
        let preflight = [
            ("origin", "https://example.org"),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "content-type,x-api-key"),
        ];
        for path in ["/v1/limits", "/nowhere"] {
            let answer = send(addr, Method::OPTIONS, path, &preflight).await;
            assert_eq!(answer.status(), 204, "{path}");
            for (name, expected) in [
                ("access-control-allow-origin", "https://example.org"),
                ("access-control-allow-headers", "content-type,x-api-key"),
                ("access-control-max-age", "600"),
                // A preflight has no API key: the next request decides whether a cookie is accepted.
                ("access-control-allow-credentials", "true"),
            ] {
                assert_eq!(answer.headers()[name], expected, "{path}");
            }
            let vary = answer.headers()["vary"].to_str().unwrap();
            assert!(vary.contains("origin"));
        }
        shutdown.begin();
    });
}
