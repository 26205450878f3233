//! Splits the bytes of a stream into JSON texts, independently of its chunks.

mod events;
mod lines;

use std::collections::VecDeque;

pub use events::{Events, StreamEvent};
use lines::Lines;

/// Maximum bytes of a line of a stream, and of the data of an event.
pub const EVENT_BYTES_MAX: usize = 1_024 * 1_024;

/// A line or an event is longer than [`EVENT_BYTES_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

#[derive(Debug)]
pub(crate) enum Framing {
    /// Server-sent events with JSON texts in their `data` fields.
    Events(Events),
    /// One JSON text per line.
    Lines(Lines),
}

impl Framing {
    pub(crate) fn events() -> Self {
        Self::Events(Events::default())
    }

    pub(crate) fn lines() -> Self {
        Self::Lines(Lines::default())
    }

    /// Adds bytes, and appends the complete texts to `texts`.
    pub(crate) fn push(&mut self, bytes: &[u8], texts: &mut VecDeque<Vec<u8>>) -> Result<(), TooLong> {
        match self {
            Self::Events(events) => events.push(bytes, texts),
            Self::Lines(lines) => lines.push(bytes, |line| {
                if !line.is_empty() {
                    texts.push_back(line.to_vec());
                }
                Ok(())
            }),
        }
    }

    /// The text that the end of the stream completes: a last line without line end. An incomplete event is dropped.
    pub(crate) fn end(&mut self) -> Option<Vec<u8>> {
        match self {
            Self::Events(_) => None,
            Self::Lines(lines) => lines.end(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(mut framing: Framing, chunks: &[&[u8]]) -> Result<Vec<String>, TooLong> {
        let mut texts = VecDeque::new();
        for chunk in chunks {
            framing.push(chunk, &mut texts)?;
        }
        texts.extend(framing.end());
        Ok(texts.into_iter().map(|text| String::from_utf8(text).unwrap()).collect())
    }

    fn check(framing: fn() -> Framing, stream: &str, expected: &[&str]) {
        let stream = stream.as_bytes();
        assert_eq!(texts(framing(), &[stream]).unwrap(), expected);
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(texts(framing(), &bytes).unwrap(), expected);
        for at in 0..=stream.len() {
            let (head, tail) = stream.split_at(at);
            assert_eq!(texts(framing(), &[head, tail]).unwrap(), expected, "{at}");
        }
    }

    #[test]
    fn events_are_parsed_as_the_standard_defines() {
        let check = |stream: &str, expected: &[&str]| check(Framing::events, stream, expected);
        check("data: a\n\ndata: b\n\n", &["a", "b"]);
        check("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
        check("data: a\r\rdata: b\r\r", &["a", "b"]);
        check("\u{feff}data: ü€😀\n\n", &["ü€😀"]);
        check("data:a\n\ndata:  b\n\n", &["a", " b"]);
        check("data: a\ndata: b\n\n", &["a\nb"]);
        check("data\n\ndata:\ndata\n\n", &["", "\n"]);
        check(": keep-alive\n\n:\ndata: a\n: more\n\n", &["a"]);
        check("event: x\nid: 1\nretry: 5\ndata: a\n\n", &["a"]);
        check("event: x\n\ndatas: a\n\ndata : b\n\n", &[]);
        check("{\"error\":1}", &[]);
        check("data: a\n\ndata: b\n", &["a"]);
        check("", &[]);
    }

    #[test]
    fn lines_may_have_any_line_end() {
        let check = |stream: &str, expected: &[&str]| check(Framing::lines, stream, expected);
        check("{\"a\":1}\n{\"b\":2}\n", &["{\"a\":1}", "{\"b\":2}"]);
        check("{}\r\n\n[]", &["{}", "[]"]);
        check("", &[]);
    }

    #[test]
    fn lines_and_events_have_a_bound() {
        let check = |framing: fn() -> Framing, stream: String, is_accepted: bool| {
            let whole = texts(framing(), &[stream.as_bytes()]);
            let cut: Vec<&[u8]> = stream.as_bytes().chunks(4_093).collect();
            assert_eq!(whole.is_ok(), is_accepted);
            assert_eq!(texts(framing(), &cut), whole);
        };
        let long = |bytes: usize| "x".repeat(bytes);
        check(Framing::lines, long(EVENT_BYTES_MAX) + "\n", true);
        check(Framing::lines, long(EVENT_BYTES_MAX + 1) + "\n", false);
        check(Framing::lines, long(EVENT_BYTES_MAX + 1), false);
        let data = |bytes: usize| format!("data:{}\n\n", long(bytes - 5));
        check(Framing::events, data(EVENT_BYTES_MAX), true);
        check(Framing::events, data(EVENT_BYTES_MAX + 1), false);
        let half = |bytes: usize| format!("data:{}\n", long(bytes));
        let halves = half(EVENT_BYTES_MAX / 2 - 1) + &half(EVENT_BYTES_MAX / 2);
        check(Framing::events, format!("{halves}\n"), true);
        check(Framing::events, format!("{halves}data\n\n"), false);
    }

    proptest! {
        #[test]
        fn no_chunking_changes_the_texts(
            stream in "(data: ?[a-zü€\r\n]{0,9}|: ?k|event: e|\n|\r\n|\r){0,20}",
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let stream = stream.as_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|cut| &stream[cut[0]..cut[1]]).collect();
            for framing in [Framing::events, Framing::lines] {
                prop_assert_eq!(texts(framing(), &chunks), texts(framing(), &[stream]));
            }
        }
    }
}
