//! What of successive contexts a prefix cache would serve.

use wire::proto::read::v1::Epoch;

use crate::latency::real;

/// How Anthropic's form marks a breakpoint. The mark is no part of what is cached, and it moves.
const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// Tokens of successive contexts, those that the one before begins with among them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Share {
    contexts: u64,
    /// Runs of contexts with one epoch.
    epochs: u64,
    /// Contexts that have one before.
    compared: u64,
    /// Their tokens.
    sent: u64,
    /// Those that they have in common with the one before, from the beginning.
    served: u64,
    /// The others of contexts that begin an epoch.
    sent_at_breaks: u64,
}

/// One conversation's contexts, as they come.
#[derive(Debug, Default)]
pub(super) struct Successive {
    last: Option<(String, Epoch)>,
    share: Share,
}

impl Share {
    /// The part of the tokens that a cache serves; the first context of a conversation does not count.
    pub(super) fn served(self) -> f64 {
        real(self.served) / real(self.sent)
    }

    /// The part of the tokens that a cache does not serve where an epoch begins.
    pub(super) fn sent_at_breaks(self) -> f64 {
        real(self.sent_at_breaks) / real(self.sent)
    }

    /// Tokens of a context, on average.
    pub(super) fn tokens_per_context(self) -> f64 {
        real(self.sent) / real(self.compared)
    }

    /// Runs of contexts with one epoch.
    pub(super) fn epochs(self) -> u64 {
        self.epochs
    }

    /// Contexts of one epoch, on average.
    pub(super) fn contexts_per_epoch(self) -> f64 {
        real(self.contexts) / real(self.epochs)
    }

    /// Adds those of another conversation.
    pub(super) fn join(&mut self, other: Self) {
        self.contexts += other.contexts;
        self.epochs += other.epochs;
        self.compared += other.compared;
        self.sent += other.sent;
        self.served += other.served;
        self.sent_at_breaks += other.sent_at_breaks;
    }
}

impl Successive {
    /// The next context.
    pub(super) fn add(&mut self, body: &str, epoch: Epoch) {
        let body = body.replace(MARK, "");
        let is_break = self.last.as_ref().is_none_or(|(_, last)| *last != epoch);
        self.share.contexts += 1;
        self.share.epochs += u64::from(is_break);
        if let Some((last, _)) = &self.last {
            let sent = u64::from(tokens::count_text(&body));
            let served = u64::from(tokens::count_text(common_prefix(last, &body)));
            self.share.compared += 1;
            self.share.sent += sent;
            self.share.served += served;
            if is_break {
                self.share.sent_at_breaks += sent.saturating_sub(served);
            }
        }
        self.last = Some((body, epoch));
    }

    /// What was seen.
    pub(super) fn share(self) -> Share {
        self.share
    }
}

/// The longest text that both begin with.
fn common_prefix<'a>(one: &str, other: &'a str) -> &'a str {
    let same = one.chars().zip(other.char_indices());
    let differs = same
        .take_while(|(sign, (_, other))| sign == other)
        .last()
        .map_or(0, |(sign, (at, _))| at + sign.len_utf8());
    other.get(..differs).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_begin_alike() {
        let check = |one, other, expected| {
            assert_eq!(common_prefix(one, other), expected, "{one} {other}");
        };
        check("", "a", "");
        check("abc", "abd", "ab");
        check("aé", "aè", "a");
        check("é", "éa", "é");
        check("ab", "ab", "ab");
    }

    #[test]
    fn what_a_cache_serves() {
        let epoch = |first_version| Epoch {
            first_version,
            ..Epoch::default()
        };
        let mut contexts = Successive::default();
        contexts.add("one two", epoch(1));
        contexts.add(&format!("one two{MARK} three four"), epoch(1));
        contexts.add("four five six", epoch(2));
        let share = contexts.share();
        let expected = Share {
            contexts: 3,
            epochs: 2,
            compared: 2,
            sent: 7,
            served: 2,
            sent_at_breaks: 3,
        };
        assert_eq!(share, expected);
        let mut twice = share;
        twice.join(share);
        assert!((twice.served() - share.served()).abs() < f64::EPSILON);
        assert!((twice.contexts_per_epoch() - 1.5).abs() < f64::EPSILON);
    }
}
