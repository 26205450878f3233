//! The lines of a body, as they arrive: memory is bounded by one line.

use axum::BoxError;
use axum::body::{Body, BodyDataStream};
use axum::http::StatusCode;
use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use runtime::http::{CODE_BODY_TOO_LARGE, HttpProblem};

/// Maximum size of a body of lines.
pub const LINES_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Maximum size of a line without its end. An event has at most 512 KiB as it is stored.
pub const LINE_BYTES_MAX: usize = 1024 * 1024;

/// A line that is not empty.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Its number in the body; the first is 1.
    pub(super) number: u64,
    /// Its text, without the end of the line.
    pub(super) text: Bytes,
}

/// Reads lines.
#[derive(Debug)]
pub(super) struct Lines {
    body: BodyDataStream,
    /// What has arrived and is not returned yet.
    rest: BytesMut,
    /// The bytes of `rest` that contain no end of a line.
    searched: usize,
    received: usize,
    number: u64,
    is_whole: bool,
}

impl Lines {
    pub(super) fn new(body: Body) -> Self {
        Self {
            body: body.into_data_stream(),
            rest: BytesMut::new(),
            searched: 0,
            received: 0,
            number: 0,
            is_whole: false,
        }
    }

    /// The next line that is not empty; `None`: the body has ended.
    ///
    /// # Errors
    /// A line or the body is too large, or the body cannot be read. The problem names the line.
    pub(super) async fn next(&mut self) -> Result<Option<Line>, HttpProblem> {
        loop {
            if let Some(text) = self.take_line()? {
                self.number += 1;
                if !text.trim_ascii().is_empty() {
                    let number = self.number;
                    return Ok(Some(Line { number, text }));
                }
                continue;
            }
            if self.is_whole {
                return Ok(None);
            }
            match self.body.next().await {
                Some(chunk) => self.receive(chunk.map_err(BoxError::from))?,
                None => self.is_whole = true,
            }
        }
    }

    /// The number of the line that is read now.
    pub(super) fn current(&self) -> u64 {
        self.number + 1
    }

    /// The next line that has arrived whole.
    fn take_line(&mut self) -> Result<Option<Bytes>, HttpProblem> {
        let new = self.rest.iter().skip(self.searched);
        let end = new.copied().position(|byte| byte == b'\n').map(|end| self.searched + end);
        let length = end.unwrap_or(self.rest.len());
        if length > LINE_BYTES_MAX {
            let (number, max) = (self.current(), LINE_BYTES_MAX);
            let detail = format!("line {number} is longer than {max} bytes: split the event");
            return Err(
                HttpProblem::new(StatusCode::BAD_REQUEST, "LINE_TOO_LONG", detail).with("line", number.to_string())
            );
        }
        self.searched = 0;
        if let Some(end) = end {
            let line = self.rest.split_to(end + 1).freeze();
            return Ok(Some(line.slice(..end)));
        }
        if self.is_whole && !self.rest.is_empty() {
            return Ok(Some(self.rest.split().freeze()));
        }
        self.searched = length;
        Ok(None)
    }

    fn receive(&mut self, chunk: Result<Bytes, BoxError>) -> Result<(), HttpProblem> {
        let number = self.current();
        let chunk = chunk.map_err(|_| {
            let detail = format!("the body ended early or cannot be read, in line {number}: send it again");
            HttpProblem::new(StatusCode::BAD_REQUEST, "BODY_UNREADABLE", detail).with("line", number.to_string())
        })?;
        self.received += chunk.len();
        if self.received > LINES_BYTES_MAX {
            let detail = format!(
                "the body is larger than {LINES_BYTES_MAX} bytes, in line {number}: send the other lines in another request"
            );
            let status = StatusCode::PAYLOAD_TOO_LARGE;
            return Err(HttpProblem::new(status, CODE_BODY_TOO_LARGE, detail).with("line", number.to_string()));
        }
        self.rest.extend_from_slice(&chunk);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::stream;

    use super::*;

    async fn check(chunks: &[&str], expected: Result<&[(u64, &str)], &str>) {
        let owned: Vec<String> = chunks.iter().map(|chunk| (*chunk).to_owned()).collect();
        let body = Body::from_stream(stream::iter(owned.into_iter().map(Ok::<_, Infallible>)));
        let mut lines = Lines::new(body);
        let mut read = Vec::new();
        let outcome = loop {
            match lines.next().await {
                Ok(Some(line)) => read.push((line.number, line.text)),
                Ok(None) => break Ok(()),
                Err(problem) => break Err(problem.code),
            }
        };
        match expected {
            Ok(expected) => {
                let read: Vec<(u64, &str)> =
                    read.iter().map(|(number, text)| (*number, std::str::from_utf8(text).unwrap())).collect();
                assert_eq!((outcome, read.as_slice()), (Ok(()), expected));
            }
            Err(code) => assert_eq!(outcome.unwrap_err(), code),
        }
    }

    #[tokio::test]
    async fn lines_are_found_across_chunks() {
        check(&[], Ok(&[])).await;
        check(&["a\nb\n"], Ok(&[(1, "a"), (2, "b")])).await;
        check(&["a", "b\n", "\n  \r\n", "c\nd"], Ok(&[(1, "ab"), (4, "c"), (5, "d")])).await;
    }

    #[tokio::test]
    async fn lines_and_bodies_are_bounded() {
        let longest = "x".repeat(LINE_BYTES_MAX);
        check(&[&longest, "\n"], Ok(&[(1, longest.as_str())])).await;
        check(&[&longest, "x", "\n"], Err("LINE_TOO_LONG")).await;
        let line = format!("{}\n", "x".repeat(LINE_BYTES_MAX - 1));
        let whole = vec![line.as_str(); LINES_BYTES_MAX / LINE_BYTES_MAX];
        let expected: Vec<(u64, &str)> = (1..).zip(whole.iter().map(|line| line.trim())).collect();
        check(&whole, Ok(&expected)).await;
        let more = [whole.as_slice(), &["x"]].concat();
        check(&more, Err("BODY_TOO_LARGE")).await;
    }
}
