//! Rate limits: at the limit, beyond it, and after a wait.

use std::time::Duration;

use gateway::http::HttpSection;
use gateway::http::config::RateLimit;
use serde_json::Value;
use tokio::time::Instant;

use crate::server::{TestServer, header, serve};

const DEADLINE: Duration = Duration::from_secs(10);

/// Three requests at once, then one per second.
const FEW: RateLimit = RateLimit {
    per_second: 1,
    burst: 3,
};

type Headers<'a> = &'a [(&'a str, &'a str)];

async fn check(
    change: impl FnOnce(&mut HttpSection),
    limit: &str,
    same: Headers<'_>,
    other: Headers<'_>,
) {
    let server = serve(change).await;
    for remaining in ["2", "1", "0"] {
        let answer = server.get(same).await;
        assert_eq!(answer.status(), 200, "{limit} {remaining}");
        assert_eq!(header(&answer, "ratelimit-limit"), Some("3"));
        assert_eq!(header(&answer, "ratelimit-remaining"), Some(remaining));
    }
    let refused = server.get(same).await;
    assert_eq!(refused.status(), 429, "{limit}");
    assert_eq!(header(&refused, "retry-after"), Some("1"));
    assert_eq!(header(&refused, "ratelimit-remaining"), Some("0"));
    assert_eq!(header(&refused, "ratelimit-reset"), Some("3"));
    let body: Value = refused.json().await.unwrap();
    assert_eq!(body["code"], "RATE_LIMITED");
    assert_eq!(body["metadata"]["limit"], limit);
    assert_eq!(server.get(other).await.status(), 200, "{limit}: another");
    recovers(&server, same).await;
}

async fn recovers(server: &TestServer, headers: Headers<'_>) {
    let started = Instant::now();
    while server.get(headers).await.status() != 200 {
        assert!(started.elapsed() < DEADLINE, "it never recovers");
        tokio::task::yield_now().await;
    }
    assert!(started.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn a_key_has_its_rate() {
    let change = |section: &mut HttpSection| section.limits.key = FEW;
    let (same, other) = ([("x-api-key", "a")], [("x-api-key", "b")]);
    check(change, "key", &same, &other).await;
}

#[tokio::test]
async fn a_session_has_its_rate_within_its_key() {
    let change = |section: &mut HttpSection| section.limits.session = FEW;
    let same = [("x-api-key", "a"), ("x-session", "1")];
    for (key, session) in [("a", "2"), ("b", "1")] {
        let other = [("x-api-key", key), ("x-session", session)];
        check(change, "session", &same, &other).await;
    }
}

#[tokio::test]
async fn an_address_has_its_rate_behind_a_trusted_proxy() {
    let change = |section: &mut HttpSection| {
        section.limits.address = FEW;
        section.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    };
    let key = ("x-api-key", "a");
    let same = [key, ("x-forwarded-for", "203.0.113.1")];
    let other = [key, ("x-forwarded-for", "203.0.113.2")];
    check(change, "address", &same, &other).await;
}

#[tokio::test]
async fn a_caller_cannot_claim_another_address() {
    for trusted in [vec![], vec!["127.0.0.0/8".parse().unwrap()]] {
        let server = serve(|section| {
            section.limits.address = FEW;
            section.trusted_proxies = trusted;
        })
        .await;
        let mut statuses = Vec::new();
        for n in 0..4 {
            // The proxy appends the address.
            let claimed = format!("198.51.100.{n}, 203.0.113.1");
            let headers = [("x-api-key", "a"), ("x-forwarded-for", claimed.as_str())];
            statuses.push(server.get(&headers).await.status().as_u16());
        }
        assert_eq!(statuses, [200, 200, 200, 429]);
    }
}
