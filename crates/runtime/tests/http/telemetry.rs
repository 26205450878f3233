//! Metrics of requests: each is counted once, by its route and not by its path.

use tokio::time::Instant;

use crate::stack::{DEADLINE, client, serve};

#[tokio::test]
async fn requests_are_counted_by_route_and_status() {
    let stack = serve(|_| {}).await;
    assert_eq!(stack.get("/items/7").await.status(), 200);
    assert_eq!(stack.get("/secret-path").await.status(), 404);
    let method = reqwest::Method::from_bytes(b"INVENTED").unwrap();
    stack.send(client().request(method, stack.url("/items/8"))).await;
    let metrics = runtime::metrics::install().unwrap();
    let expected = [
        r#"http_server_requests_total{route="/items/{id}",method="GET",status="200"}"#,
        r#"http_server_requests_total{route="unmatched",method="GET",status="404"}"#,
        r#"http_server_requests_total{route="/items/{id}",method="_OTHER",status="405"}"#,
        r#"http_server_request_seconds_count{route="/items/{id}"}"#,
        "http_server_requests_in_flight",
    ];
    let deadline = Instant::now() + DEADLINE;
    loop {
        let text = metrics.render();
        assert!(!text.contains("secret-path"), "{text}");
        if expected.iter().all(|line| text.contains(line)) {
            return;
        }
        assert!(Instant::now() < deadline, "{text}");
        tokio::task::yield_now().await;
    }
}
