//! A client that reads streams of a gateway or of a model server.

use std::time::Duration;

use anyhow::Context as _;
use futures::StreamExt as _;
use reqwest::RequestBuilder;
use serde_json::Value;
use tokio::time::Instant;

#[derive(Debug, Clone, Copy)]
pub(in crate::suites) enum Dialect {
    /// Chat completions of a model server.
    ChatCompletions,
    /// The UI message stream of a gateway.
    UiMessages,
}

pub(in crate::suites) struct Received {
    /// Time from the request to the first text.
    pub(in crate::suites) first: Duration,
    pub(in crate::suites) text: String,
}

/// Sends a request and reads the stream to its end.
pub(in crate::suites) async fn listen(request: RequestBuilder, dialect: Dialect) -> anyhow::Result<Received> {
    let start = Instant::now();
    let answer = request.send().await?;
    let status = answer.status();
    anyhow::ensure!(status.is_success(), "a stream is answered with {status}");
    let mut bytes = answer.bytes_stream();
    let (mut unread, mut text, mut first) = (Vec::new(), String::new(), None);
    while let Some(more) = bytes.next().await {
        unread.extend_from_slice(&more?);
        while let Some(event) = next_event(&mut unread) {
            let Some(words) = dialect.text_of(&event) else {
                continue;
            };
            first.get_or_insert_with(|| start.elapsed());
            text.push_str(&words);
        }
    }
    let first = first.context("a stream without a text")?;
    Ok(Received { first, text })
}

/// Removes the next complete event; returns its data.
fn next_event(unread: &mut Vec<u8>) -> Option<Vec<u8>> {
    let end = unread.windows(2).position(|pair| pair == b"\n\n")?;
    let event: Vec<u8> = unread.drain(..end + 2).collect();
    let mut lines = event.split(|byte| *byte == b'\n');
    let data = lines.find_map(|line| line.strip_prefix(b"data: "));
    Some(data.unwrap_or_default().to_vec())
}

impl Dialect {
    fn text_of(self, data: &[u8]) -> Option<String> {
        let chunk: Value = serde_json::from_slice(data).ok()?;
        let text = match self {
            Self::ChatCompletions => chunk.pointer("/choices/0/delta/content"),
            Self::UiMessages => {
                chunk.get("delta").filter(|_| chunk.get("type").is_some_and(|kind| kind == "text-delta"))
            }
        };
        // The first chunk of a gateway has the role and an empty text.
        let text = text?.as_str().filter(|text| !text.is_empty())?;
        Some(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_both_dialects() {
        let check = |dialect: Dialect, events: &str, expected: &[&str], left: &str| {
            let mut unread = events.as_bytes().to_vec();
            let events = std::iter::from_fn(|| next_event(&mut unread));
            let texts: Vec<String> = events.filter_map(|event| dialect.text_of(&event)).collect();
            assert_eq!(texts, expected);
            assert_eq!(unread, left.as_bytes());
        };
        check(
            Dialect::ChatCompletions,
            "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[]}\n\ndata: [DONE]\n\n",
            &["a"],
            "",
        );
        check(
            Dialect::UiMessages,
            ": ping\n\nid: 2\ndata: {\"type\":\"text-delta\",\"id\":\"1\",\"delta\":\"b\"}\n\ndata: {\"type\":\"finish\",\"delta\":\"c\"}\n\ndata: {\"ty",
            &["b"],
            "data: {\"ty",
        );
    }
}
