//! The HTTP door of a whole gateway: what anybody may ask, what is refused, and the end.

use std::net::SocketAddr;
use std::time::Duration;

use reqwest::{Client, Method, Response};
use serde_json::Value;
use tokio::time::{Instant, timeout};

use crate::stack::{run, shared};

const DEADLINE: Duration = Duration::from_secs(10);

/// A client: this process has other clients over TLS, so that a provider must be chosen.
fn client() -> Client {
    // Whoever is first chooses for all; the choice is the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().build().unwrap()
}

async fn ask(addr: SocketAddr, method: Method, path: &str, headers: &[(&str, &str)]) -> Response {
    let client = client();
    let request = client.request(method, format!("http://{addr}{path}"));
    let request = headers.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    });
    timeout(DEADLINE, request.send()).await.unwrap().unwrap()
}

async fn get(addr: SocketAddr, path: &str) -> Response {
    ask(addr, Method::GET, path, &[]).await
}

async fn ready(addr: SocketAddr) {
    let deadline = Instant::now() + DEADLINE;
    while get(addr, "/healthz").await.status() != 200 {
        assert!(Instant::now() < deadline, "the gateway is never ready");
    }
}

#[test]
fn anybody_may_ask_for_health_limits_and_the_description() {
    run(async {
        let stack = shared().await;
        let (addr, shutdown) = stack.door_with(|_| {}).await;
        ready(addr).await;
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
        let client = client();
        assert!(
            client
                .get(format!("http://{addr}/healthz"))
                .send()
                .await
                .is_err()
        );
    });
}

#[test]
fn what_the_door_does_not_have_is_a_problem() {
    run(async {
        let stack = shared().await;
        let (addr, shutdown) = stack.door_with(|_| {}).await;
        for (method, path, status, code) in [
            (Method::GET, "/nowhere", 404, Some("ROUTE_NOT_FOUND")),
            (Method::POST, "/v1/limits", 405, Some("METHOD_NOT_ALLOWED")),
            (
                Method::OPTIONS,
                "/v1/limits",
                405,
                Some("METHOD_NOT_ALLOWED"),
            ),
            (Method::HEAD, "/v1/limits", 200, None),
        ] {
            let answer = ask(addr, method.clone(), path, &[]).await;
            assert_eq!(answer.status(), status, "{method} {path}");
            assert!(answer.headers().contains_key("x-request-id"));
            let body: Option<Value> = answer.json().await.ok();
            let told = body.as_ref().and_then(|body| body["code"].as_str());
            assert_eq!(told, code, "{method} {path}");
        }
        shutdown.begin();
    });
}

#[test]
fn a_preflight_is_answered_for_any_page() {
    run(async {
        let stack = shared().await;
        let (addr, shutdown) = stack.door_with(|_| {}).await;
        let asked = [
            ("origin", "https://example.org"),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "content-type,x-api-key"),
        ];
        for path in ["/v1/limits", "/nowhere"] {
            let answer = ask(addr, Method::OPTIONS, path, &asked).await;
            assert_eq!(answer.status(), 204, "{path}");
            let told = answer.headers();
            assert_eq!(told["access-control-allow-origin"], "https://example.org");
            assert_eq!(
                told["access-control-allow-headers"],
                "content-type,x-api-key"
            );
            assert_eq!(told["access-control-max-age"], "600");
            assert!(told["vary"].to_str().unwrap().contains("origin"));
            // No key is known yet: whether a cookie counts is decided by the request after it.
            assert_eq!(told["access-control-allow-credentials"], "true");
        }
        shutdown.begin();
    });
}
