//! Circuit breakers open for failing servers, and close again.

use std::time::{Duration, Instant};

use models::{BreakerConfig, ModelServerConfig, ServerKind};

use crate::fake::{FakeServer, Script};
use crate::requests::{ask, ending, servers};
use crate::streams;

const KIND: ServerKind = ServerKind::OpenAiChat;
/// How long the breaker stays open.
const OPEN_MS: u64 = 1_000;
/// Maximum time until the breaker permits a request.
const DEADLINE: Duration = Duration::from_secs(30);

fn breaking(config: &mut ModelServerConfig) {
    config.retries_max = 0;
    config.breaker = BreakerConfig { failures_max: 2, open_ms: OPEN_MS };
}

fn failing() -> Script {
    Script::status(500, "", "")
}

fn whole() -> Script {
    Script::stream([streams::whole(KIND).as_bytes()])
}

/// The first outcome that is not an open breaker.
async fn permitted_ending(servers: &models::ModelServers) -> &'static str {
    let began_at = Instant::now();
    loop {
        let (_, end) = ending(servers).await;
        if end != "model_breaker_open" {
            return end;
        }
        assert!(began_at.elapsed() < DEADLINE, "still open");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn it_opens_probes_and_closes() {
    let server = FakeServer::start([failing()]).await;
    let servers = servers(KIND, &server, breaking);
    for end in ["model_unavailable", "model_unavailable", "model_breaker_open"] {
        assert_eq!(ending(&servers).await, (0, end));
    }
    assert_eq!(server.received().len(), 2);
    let retry_after_ms = ask(&servers).await.unwrap_err().retry_after_ms();
    assert!(retry_after_ms.is_some_and(|ms| (1..=OPEN_MS).contains(&ms)));
    assert_eq!(permitted_ending(&servers).await, "model_unavailable");
    assert_eq!(ending(&servers).await, (0, "model_breaker_open"));
    assert_eq!(server.received().len(), 3);
    server.play([whole()]);
    assert_eq!(permitted_ending(&servers).await, "finished");
    assert_eq!(ending(&servers).await, (6, "finished"));
}

#[tokio::test]
async fn the_first_piece_of_a_probe_closes_the_breaker() {
    let server = FakeServer::start([failing()]).await;
    let servers = servers(KIND, &server, breaking);
    for _ in 0..2 {
        ending(&servers).await;
    }
    server.play([Script::nothing()]);
    let asked = servers.clone();
    let probe = tokio::spawn(async move { permitted_ending(&asked).await });
    let began_at = Instant::now();
    while server.received().len() < 3 {
        assert!(began_at.elapsed() < DEADLINE, "no probe");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(ending(&servers).await, (0, "model_breaker_open"));
    // A cancelled probe has no outcome: the next request is the probe.
    probe.abort();
    assert!(probe.await.is_err());
    let begun = Script::begun([streams::first(KIND).as_bytes()]).then_go_silent();
    server.play([begun, whole()]);
    let _begun = ask(&servers).await.unwrap();
    assert_eq!(ending(&servers).await, (6, "finished"));
}

#[tokio::test]
async fn rejections_and_overloads_do_not_open_the_breaker() {
    let refused = Script::status(400, "", "");
    let overloaded = Script::status(429, "", "");
    let server = FakeServer::start([]).await;
    let servers = servers(KIND, &server, breaking);
    for (script, end) in [(refused, "model_refused"), (overloaded, "model_overloaded"), (whole(), "finished")] {
        server.play([script]);
        for _ in 0..4 {
            assert_eq!(ending(&servers).await.1, end);
        }
    }
}

#[tokio::test]
async fn broken_replies_open_the_breaker_and_an_open_breaker_ends_retries() {
    let cut = Script::begun([streams::first(KIND).as_bytes()]).then_hang_up();
    let server = FakeServer::start([cut]).await;
    let broken = servers(KIND, &server, breaking);
    for end in ["model_reply_broken", "model_reply_broken", "model_breaker_open"] {
        assert_eq!(ending(&broken).await.1, end);
    }
    let server = FakeServer::start([failing()]).await;
    let retried = servers(KIND, &server, |config| {
        breaking(config);
        config.breaker.open_ms = 60_000;
        config.retries_max = 5;
    });
    assert_eq!(ending(&retried).await.1, "model_unavailable");
    assert_eq!(server.received().len(), 2);
}
