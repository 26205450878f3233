//! Measurements without asserts: `cargo test --release -p redact --test redact -- --ignored --nocapture`.

use std::time::{Duration, Instant};

use domain::bounds::EVENT_BYTES_MAX;

use super::{redacted, rules};

const PROSE: &str = "The deployment went fine on 2024-11-22 at 01:26; 17 pods were replaced, and the queue drained within 4 minutes. \
    We saw `latency_ms=182` at the 99th percentile, which is above the 150 that was agreed upon. Let me look at the traces next. ";
const SUSPECT: &str = "Each token of the 4096 costs money; a password is never logged, and the api key stays in its vault. Order 4711-0815-2024-17 \
    was sent; the cookie banner is gone. See https://example.com/docs?page=2 for how `max_tokens: 512` works with basic plans. ";

#[test]
#[ignore = "a measurement"]
fn two_hundred_messages_of_500_bytes() {
    for (name, text) in [("clean", PROSE), ("suspect", SUSPECT), ("hit", "password=hunter2 and some more text ")] {
        let (best, hits) = best(text);
        println!("{name}: {best:?} for 200 messages of 500 bytes, {hits} hits");
    }
}

/// Pieces that cost the most when an event repeats them.
#[rustfmt::skip]
const SLOW_PIECES: [&str; 24] = [
    "cookie: ", "token:", "token=\"", "token=\\\"", "seed: ", "seed: abc def ", "password is ", "Bearer ", "basic aaaaaaa ",
    "eyJaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----", "http://a:", "4111 ", "411111111111", "[redacted:",
    "[redacted:token]token=a ", "AKIAIOSFODNN7EXAMPLE", "lnbc1", "Authorization: Bearer ", "card number: 1 ",
    "{\"token\":", "[", "\\u00", "api_key",
];

#[test]
#[ignore = "a measurement"]
fn events_that_repeat_one_piece() {
    for piece in SLOW_PIECES {
        let text = piece.repeat(EVENT_BYTES_MAX / piece.len());
        let start = Instant::now();
        let (_, found) = redacted(&text, &rules("{}"));
        println!("{:?} for an event of {piece:?}, {} hits", start.elapsed(), found.total());
    }
}

fn best(text: &str) -> (Duration, u64) {
    let message: String = text.chars().cycle().take(500).collect();
    let rules = rules("{}");
    let took = (0..200).map(|_| {
        let start = Instant::now();
        let hits = (0..200).map(|_| redacted(&message, &rules).1.total()).sum();
        (start.elapsed(), hits)
    });
    took.min().unwrap()
}
