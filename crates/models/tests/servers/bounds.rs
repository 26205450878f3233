//! Replies at their bounds and one byte past them.

use formats::Delta;
use models::{EVENT_BYTES_MAX, ModelError, Piece, REPLY_BYTES_MAX, STREAM_BYTES_MAX, ServerKind};

use crate::fake::{FakeServer, Script};
use crate::requests::{ask_all, servers};

const KIND: ServerKind = ServerKind::OpenAiChat;
/// The parts of an event before and after a text.
const BEFORE: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"";
const AFTER: &str = "\"}}]}";
const LAST: &str = "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn event(text_bytes: usize) -> String {
    format!("{BEFORE}{}{AFTER}\n\n", "x".repeat(text_bytes))
}

/// `expected`: the received bytes of text, and the exceeded bound.
async fn check(stream: String, expected: (usize, Option<usize>)) {
    let chunks = stream.as_bytes().chunks(1_000_003);
    let server = FakeServer::start([Script::stream(chunks)]).await;
    let servers = servers(KIND, &server, |_| ());
    let (pieces, error) = ask_all(&servers).await;
    let text = pieces.iter().map(|piece| match piece {
        Piece::Delta(Delta::Text(text)) => text.len(),
        _ => 0,
    });
    let bound = error.map(|error| match error {
        ModelError::TooLarge { bytes_max, .. } => bytes_max,
        other => panic!("{other:?}"),
    });
    assert_eq!((text.sum(), bound), expected);
}

#[tokio::test]
async fn events() {
    let most = EVENT_BYTES_MAX - BEFORE.len() - AFTER.len();
    check(event(most) + LAST, (most, None)).await;
    let one_past = event(9) + &event(most + 1) + LAST;
    check(one_past, (9, Some(EVENT_BYTES_MAX))).await;
}

#[tokio::test]
async fn deltas() {
    let eighths = event(REPLY_BYTES_MAX / 16).repeat(15);
    let most = eighths.clone() + &event(REPLY_BYTES_MAX / 16) + LAST;
    check(most, (REPLY_BYTES_MAX, None)).await;
    let one_past = eighths + &event(REPLY_BYTES_MAX / 16 + 1) + LAST;
    let before = REPLY_BYTES_MAX / 16 * 15;
    check(one_past, (before, Some(REPLY_BYTES_MAX))).await;
}

#[tokio::test]
async fn streams() {
    let comment = format!(":{}\n", "k".repeat(EVENT_BYTES_MAX - 2));
    let stream = |bytes: usize| {
        let begun = event(2);
        let filled = (bytes - begun.len() - LAST.len()) / comment.len();
        let stream = begun + &comment.repeat(filled);
        let rest = bytes - stream.len() - LAST.len();
        format!("{stream}:{}\n{LAST}", "k".repeat(rest - 2))
    };
    check(stream(STREAM_BYTES_MAX), (2, None)).await;
    // The last byte exceeds the bound, after all deltas of the reply.
    let one_past = (2, Some(STREAM_BYTES_MAX));
    check(stream(STREAM_BYTES_MAX + 1), one_past).await;
}
