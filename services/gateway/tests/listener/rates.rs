//! Rate limits: at the limit, beyond it, and after a wait.

use std::time::Duration;

use http_listener::config::{HttpSection, RateLimit};
use reqwest::Response;
use serde_json::Value;
use tokio::time::Instant;

use crate::server::{TestServer, header, serve};

const DEADLINE: Duration = Duration::from_secs(30);

/// Three requests at once, then one per second.
const FEW: RateLimit = RateLimit { per_second: 1, burst: 3 };

/// After this time, [`FEW`] admits one more request.
const REFILLED_AFTER: Duration = Duration::from_secs(1);

type Headers<'a> = &'a [(&'a str, &'a str)];

/// The answers to four requests before the limit admits one more. If the machine is too slow, they are repeated at a new
/// server.
async fn four_at_once(
    change: impl Fn(&mut HttpSection),
    request: impl AsyncFn(&TestServer, u8) -> Response,
) -> (TestServer, [Response; 4]) {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let server = serve(&change).await;
        let started = Instant::now();
        let answers = [
            request(&server, 0).await,
            request(&server, 1).await,
            request(&server, 2).await,
            request(&server, 3).await,
        ];
        if started.elapsed() < REFILLED_AFTER {
            return (server, answers);
        }
        assert!(Instant::now() < deadline, "four requests take too long");
    }
}

async fn check(change: impl Fn(&mut HttpSection), limit: &str, same: Headers<'_>, other: Headers<'_>) {
    let request = async |server: &TestServer, _: u8| server.get(same).await;
    let (server, [first, second, third, refused]) = four_at_once(change, request).await;
    for (answer, remaining) in [(first, "2"), (second, "1"), (third, "0")] {
        assert_eq!(answer.status(), 200, "{limit} {remaining}");
        assert_eq!(header(&answer, "ratelimit-limit"), Some("3"));
        assert_eq!(header(&answer, "ratelimit-remaining"), Some(remaining));
    }
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

/// A request that is sent after the refill is admitted.
async fn recovers(server: &TestServer, headers: Headers<'_>) {
    let started = Instant::now();
    loop {
        let waited = started.elapsed();
        if server.get(headers).await.status() == 200 {
            return;
        }
        assert!(waited < REFILLED_AFTER, "rejected {waited:?} after the last request");
        tokio::task::yield_now().await;
    }
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
        let change = |section: &mut HttpSection| {
            section.limits.address = FEW;
            section.trusted_proxies.clone_from(&trusted);
        };
        let request = async |server: &TestServer, n: u8| {
            // The proxy appends the address.
            let claimed = format!("198.51.100.{n}, 203.0.113.1");
            let headers = [("x-api-key", "a"), ("x-forwarded-for", claimed.as_str())];
            server.get(&headers).await
        };
        let (_server, answers) = four_at_once(change, request).await;
        let statuses = answers.map(|answer| answer.status().as_u16());
        assert_eq!(statuses, [200, 200, 200, 429]);
    }
}
