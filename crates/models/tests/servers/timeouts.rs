//! Timeouts, and callers that drop a reply.

use std::time::Duration;

use futures::future::join_all;
use models::{ModelError, ModelServerConfig, Piece, ServerKind, Step};

use crate::fake::{FakeServer, Script};
use crate::requests::{KINDS, ask, ask_all, servers};
use crate::streams;

/// A timeout that tests await. Long enough for a whole exchange on a busy machine.
const SHORT_MS: u64 = 500;

fn silent(chunks: &[&str]) -> Script {
    Script::begun(chunks.iter().map(|chunk| chunk.as_bytes())).then_go_silent()
}

async fn check(kind: ServerKind, script: Script, change: impl FnOnce(&mut ModelServerConfig), expected: (usize, Step)) {
    let server = FakeServer::start([script]).await;
    let servers = servers(kind, &server, change);
    let (pieces, error) = ask_all(&servers).await;
    let (deltas, which) = expected;
    assert_eq!(error, Some(ModelError::TimedOut { which }), "{kind:?}");
    assert_eq!((pieces.len(), server.received().len()), (deltas, 1));
    server.is_left().await;
}

#[tokio::test]
async fn the_first_piece_has_a_timeout() {
    let soon = |config: &mut ModelServerConfig| config.first_token_timeout_ms = SHORT_MS;
    let step = (0, Step::FirstPiece);
    let checks = KINDS.into_iter().flat_map(|kind| {
        let sign = silent(&[streams::keep_alive(kind)]);
        [Script::nothing(), silent(&[]), sign].map(|script| check(kind, script, soon, step))
    });
    join_all(checks).await;
}

#[tokio::test]
async fn silence_after_the_first_piece_has_a_timeout() {
    let soon = |config: &mut ModelServerConfig| config.idle_timeout_ms = SHORT_MS;
    let step = (1, Step::Silence);
    let checks = KINDS.into_iter().flat_map(|kind| {
        let (first, sign) = (streams::first(kind), streams::keep_alive(kind));
        [silent(&[first]), silent(&[first, sign])].map(|script| check(kind, script, soon, step))
    });
    join_all(checks).await;
}

#[tokio::test]
async fn a_whole_reply_has_a_timeout() {
    let soon = |config: &mut ModelServerConfig| config.total_timeout_ms = SHORT_MS;
    let kind = ServerKind::OpenAiChat;
    check(kind, Script::nothing(), soon, (0, Step::Total)).await;
    let begun = |config: &mut ModelServerConfig| config.total_timeout_ms = 4 * SHORT_MS;
    let first = silent(&[streams::first(kind)]);
    check(kind, first, begun, (1, Step::Total)).await;
}

#[tokio::test]
async fn a_cancelled_read_loses_no_piece() {
    let kind = ServerKind::OpenAiChat;
    let server = FakeServer::start([silent(&[streams::first(kind)])]).await;
    let servers = servers(kind, &server, |config| config.idle_timeout_ms = SHORT_MS);
    let mut pieces = ask(&servers).await.unwrap();
    let mut deltas = 0;
    let error = loop {
        let next = tokio::time::timeout(Duration::from_millis(5), pieces.next()).await;
        match next {
            Ok(Some(Ok(Piece::Delta(_)))) => deltas += 1,
            Ok(Some(Err(error))) => break error,
            Ok(other) => panic!("{other:?}"),
            Err(_) => {}
        }
    };
    let which = Step::Silence;
    assert_eq!((deltas, error), (1, ModelError::TimedOut { which }));
}

#[tokio::test]
async fn a_dropped_reply_ends_its_request() {
    for kind in KINDS {
        let server = FakeServer::start([silent(&[streams::first(kind)])]).await;
        let servers = servers(kind, &server, |_| ());
        drop(ask(&servers).await.unwrap());
        server.is_left().await;
    }
}

#[tokio::test]
async fn a_dropped_call_ends_its_request() {
    let server = FakeServer::start([Script::nothing()]).await;
    let servers = servers(ServerKind::Anthropic, &server, |_| ());
    let asked = tokio::time::timeout(Duration::from_millis(SHORT_MS), ask(&servers)).await;
    assert!(asked.is_err());
    server.is_left().await;
}
