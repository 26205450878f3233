//! The built-in model. It answers with the last user message, deterministically, without network or key.

use std::time::Duration;

use bytes::Bytes;
use context::{Transcript, Turn};
use domain::event::{MessageAppended, Role, Usage, UsageSource};
use domain::{Fact, Label, Part};
use formats::{Delta, Reply, canonical};
use tokio::time::{Instant, sleep_until};

use crate::error::ModelError;
use crate::exchange::Attempt;
use crate::piece::Piece;
use crate::request::ModelRequest;
use crate::request_metrics::size_bytes;

/// The name of the built-in model's server and provider.
pub const ECHO: &str = "echo";
/// The text before the message.
pub const ECHO_PREFIX: &str = "echo: ";
/// Maximum bytes of a reply including the prefix. A longer reply ends before the word that exceeds the bound.
pub const ECHO_TEXT_BYTES_MAX: usize = 256 * 1_024;

/// A reply of the built-in model while it is streamed.
#[derive(Debug)]
pub(crate) struct Echo {
    words: std::vec::IntoIter<String>,
    word_delay: Duration,
    next_at: Option<Instant>,
    attempt: Attempt,
    reply: Reply,
}

impl Echo {
    /// Parses a context in the canonical format and builds the reply. Words count as tokens.
    pub(crate) fn new(request: &ModelRequest, word_delay: Duration) -> Result<Self, ModelError> {
        let transcript = canonical::parse(&request.body).map_err(|_| ModelError::Unusable {
            problem: "has a body that is not a context in the canonical format",
        })?;
        let question = transcript.turns.iter().rev().find(|t| t.role == Role::User);
        let text = format!("{ECHO_PREFIX}{}", question.map(texts).unwrap_or_default());
        let (words, is_whole) = limit(words(&text), request.max_output_tokens);
        let usage = Usage {
            input_tokens: count_words(&transcript),
            output_tokens: u64::try_from(words.len()).unwrap_or(u64::MAX),
            ..Usage::default()
        };
        let message = message(&request.model, words.concat(), is_whole, usage);
        let listener = request.listener.as_ref();
        let body: Option<Bytes> = listener.map(|_| request.body.clone().into());
        Ok(Self {
            words: words.into_iter(),
            word_delay,
            next_at: None,
            attempt: Attempt::begin(listener, 1, &body.unwrap_or_default()),
            reply: Reply { facts: vec![Fact::MessageAppended(message)] },
        })
    }

    pub(crate) async fn next(&mut self) -> Result<Piece, ModelError> {
        if self.words.len() > 0 && !self.word_delay.is_zero() {
            let delay = self.word_delay;
            let at = *self.next_at.get_or_insert_with(|| Instant::now() + delay);
            sleep_until(at).await;
            self.next_at = None;
        }
        let piece = match self.words.next() {
            Some(word) => {
                let delta = Delta::Text(word);
                self.attempt.record_bytes(size_bytes(&delta));
                Ok(Piece::Delta(delta))
            }
            None => Ok(Piece::Finished(self.reply.clone())),
        };
        self.attempt.record(&piece);
        piece
    }
}

fn message(model: &str, text: String, is_whole: bool, usage: Usage) -> MessageAppended {
    let finish_reason = if is_whole { "stop" } else { "length" };
    let part = (!text.is_empty()).then_some(Part::Text(text));
    MessageAppended {
        role: Role::Assistant,
        parts: part.into_iter().collect(),
        author: None,
        model: Label::parse(model).ok(),
        provider: Label::parse(ECHO).ok(),
        provider_response_id: None,
        finish_reason: Label::parse(finish_reason).ok(),
        usage: Some(usage),
        usage_source: UsageSource::Reported,
    }
}

fn texts(turn: &Turn) -> String {
    let texts = turn.parts.iter().filter_map(|part| {
        let Part::Text(text) = part else { return None };
        Some(text.as_str())
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Splits the text into words, each with the white space after it. Their concatenation is the text.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for piece in text.split_inclusive(char::is_whitespace) {
        match words.last_mut() {
            Some(last) if piece.trim().is_empty() => last.push_str(piece),
            _ => words.push(piece.to_owned()),
        }
    }
    words
}

/// The words within the bounds, and whether these are all words.
fn limit(words: Vec<String>, words_max: Option<u32>) -> (Vec<String>, bool) {
    let all = words.len();
    let words_max = words_max.map_or(usize::MAX, |max| usize::try_from(max).unwrap_or(usize::MAX));
    let mut bytes = 0;
    let taken: Vec<String> = words
        .into_iter()
        .take(words_max)
        .take_while(|word| {
            bytes += word.len();
            bytes <= ECHO_TEXT_BYTES_MAX
        })
        .collect();
    let is_whole = taken.len() == all;
    (taken, is_whole)
}

fn count_words(transcript: &Transcript) -> u64 {
    let instructions = transcript.instructions.iter().chain(&transcript.opening);
    let around = instructions.chain(&transcript.closing).cloned();
    let texts = around.chain(transcript.turns.iter().map(texts));
    let words: usize = texts.map(|text| text.split_whitespace().count()).sum();
    u64::try_from(words).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(words(text), expected);
        assert_eq!(words(text).concat(), text);
    }

    #[test]
    fn words_keep_their_white_space() {
        check("echo: Hello,  big\n\nworld ", &["echo: ", "Hello,  ", "big\n\n", "world "]);
        check("  a", &["  ", "a"]);
        check("grüße 😀", &["grüße ", "😀"]);
        check("", &[]);
    }

    #[test]
    fn replies_have_a_bound() {
        let check = |bytes: usize, is_all: bool| {
            let (taken, is_whole) = limit(vec!["x".repeat(bytes - 1), "y".to_owned()], None);
            assert_eq!((taken.len() == 2, is_whole), (is_all, is_all));
        };
        check(ECHO_TEXT_BYTES_MAX, true);
        check(ECHO_TEXT_BYTES_MAX + 1, false);
        let three = || ["a ", "b ", "c"].map(str::to_owned).to_vec();
        assert_eq!(limit(three(), Some(3)).0.len(), 3);
        assert_eq!(limit(three(), Some(2)), (three()[..2].to_vec(), false));
        assert_eq!(limit(three(), Some(0)), (vec![], false));
    }
}
