//! The built-in model: it answers with the last user's message. No network, no key, no chance.

use std::time::Duration;

use bytes::Bytes;
use context::{Transcript, Turn};
use domain::event::{MessageAppended, Role, Usage};
use domain::{Fact, Label, Part};
use formats::{Delta, Reply, canonical};
use tokio::time::{Instant, sleep_until};

use crate::error::ModelError;
use crate::exchange::Attempt;
use crate::meter::size_bytes;
use crate::piece::Piece;
use crate::request::ModelRequest;

/// The built-in model's name: that of its server, of its provider, and what its replies begin with.
pub const ECHO: &str = "echo";
/// What stands before the message.
pub const ECHO_PREFIX: &str = "echo: ";
/// Most bytes of a reply, the prefix among them; a longer one ends before the word that would break the bound.
pub const ECHO_TEXT_BYTES_MAX: usize = 256 * 1_024;

/// A reply of the built-in model, as far as it has come.
#[derive(Debug)]
pub(crate) struct Echo {
    words: std::vec::IntoIter<String>,
    word_delay: Duration,
    next_at: Option<Instant>,
    attempt: Attempt,
    reply: Reply,
}

impl Echo {
    /// Reads the context, in the canonical form, and makes up the reply: words count as tokens.
    pub(crate) fn new(request: &ModelRequest, word_delay: Duration) -> Result<Self, ModelError> {
        let transcript = canonical::parse(&request.body).map_err(|_| ModelError::Unusable {
            problem: "has a body that is no context in the canonical form",
        })?;
        let said = transcript.turns.iter().rev().find(|t| t.role == Role::User);
        let text = format!("{ECHO_PREFIX}{}", said.map(texts).unwrap_or_default());
        let (words, is_whole) = limited(words(&text), request.max_output_tokens);
        let usage = Usage {
            input_tokens: count(&transcript),
            output_tokens: u64::try_from(words.len()).unwrap_or(u64::MAX),
            ..Usage::default()
        };
        let message = message(&request.model, words.concat(), is_whole, usage);
        let heard = request
            .listener
            .as_ref()
            .map(|_| request.body.clone().into());
        let body: Bytes = heard.unwrap_or_default();
        Ok(Self {
            words: words.into_iter(),
            word_delay,
            next_at: None,
            attempt: Attempt::begin(request.listener.as_ref(), 1, &body),
            reply: Reply {
                facts: vec![Fact::MessageAppended(message)],
            },
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
                self.attempt.received(size_bytes(&delta));
                Ok(Piece::Delta(delta))
            }
            None => Ok(Piece::Finished(self.reply.clone())),
        };
        self.attempt.note(&piece);
        piece
    }
}

fn message(model: &str, text: String, is_whole: bool, usage: Usage) -> MessageAppended {
    let finish_reason = if is_whole { "stop" } else { "length" };
    let parts = if text.is_empty() {
        Vec::new()
    } else {
        vec![Part::Text(text)]
    };
    MessageAppended {
        role: Role::Assistant,
        parts,
        author: None,
        model: Label::parse(model).ok(),
        provider: Label::parse(ECHO).ok(),
        provider_response_id: None,
        finish_reason: Label::parse(finish_reason).ok(),
        usage: Some(usage),
    }
}

fn texts(turn: &Turn) -> String {
    let texts = turn.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        Part::Image { .. }
        | Part::File { .. }
        | Part::Thinking { .. }
        | Part::RedactedThinking(_)
        | Part::Refusal(_)
        | Part::ProviderItem { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The text cut into words, each with the white space after it: together they are the text.
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

/// As many words as the bounds take, and whether that is all of them.
fn limited(words: Vec<String>, words_max: Option<u32>) -> (Vec<String>, bool) {
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

/// Words of all texts that were read.
fn count(transcript: &Transcript) -> u64 {
    let told = transcript.instructions.iter().map(String::as_str);
    let around = transcript.opening.iter().chain(&transcript.closing);
    let told = told.chain(around.map(String::as_str));
    let told: usize = told.map(|text| text.split_whitespace().count()).sum();
    let turns = transcript.turns.iter().map(texts);
    let said: usize = turns.map(|text| text.split_whitespace().count()).sum();
    u64::try_from(told + said).unwrap_or(u64::MAX)
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
        check(
            "echo: Hello,  big\n\nworld ",
            &["echo: ", "Hello,  ", "big\n\n", "world "],
        );
        check("  a", &["  ", "a"]);
        check("grüße 😀", &["grüße ", "😀"]);
        check("", &[]);
    }

    #[test]
    fn replies_have_a_bound() {
        let check = |bytes: usize, is_all: bool| {
            let (taken, is_whole) = limited(vec!["x".repeat(bytes - 1), "y".to_owned()], None);
            assert_eq!((taken.len() == 2, is_whole), (is_all, is_all));
        };
        check(ECHO_TEXT_BYTES_MAX, true);
        check(ECHO_TEXT_BYTES_MAX + 1, false);
        let three = || ["a ", "b ", "c"].map(str::to_owned).to_vec();
        assert_eq!(limited(three(), Some(3)).0.len(), 3);
        assert_eq!(limited(three(), Some(2)), (three()[..2].to_vec(), false));
        assert_eq!(limited(three(), Some(0)), (vec![], false));
    }
}
