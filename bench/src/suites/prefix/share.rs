//! The share of successive contexts that a prefix cache would serve.

use wire::proto::read::v1::Epoch;

use crate::latency::real;

/// A breakpoint in Anthropic's format. It moves, and it is not part of the cached prefix.
const BREAKPOINT: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// Token counts of successive contexts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Share {
    contexts: u64,
    /// Sequences of contexts with the same epoch.
    pub(super) epochs: u64,
    /// Contexts with a predecessor.
    compared: u64,
    /// Their tokens.
    sent: u64,
    /// Tokens of the common prefix with the predecessor.
    served: u64,
    /// Other tokens of the first contexts of epochs.
    sent_at_breaks: u64,
}

/// The contexts of one conversation, in order.
#[derive(Debug, Default)]
pub(super) struct PrefixTracker {
    last: Option<(String, Epoch)>,
    pub(super) share: Share,
}

impl Share {
    /// The cached share of the tokens, without the first context of each conversation.
    pub(super) fn served(self) -> f64 {
        real(self.served) / real(self.sent)
    }

    /// The share of uncached tokens at the start of epochs.
    pub(super) fn sent_at_breaks(self) -> f64 {
        real(self.sent_at_breaks) / real(self.sent)
    }

    /// Average tokens per context.
    pub(super) fn tokens_per_context(self) -> f64 {
        real(self.sent) / real(self.compared)
    }

    /// Average contexts per epoch.
    pub(super) fn contexts_per_epoch(self) -> f64 {
        real(self.contexts) / real(self.epochs)
    }

    pub(super) fn join(&mut self, other: Self) {
        self.contexts += other.contexts;
        self.epochs += other.epochs;
        self.compared += other.compared;
        self.sent += other.sent;
        self.served += other.served;
        self.sent_at_breaks += other.sent_at_breaks;
    }
}

impl PrefixTracker {
    pub(super) fn add(&mut self, body: &str, epoch: Epoch) {
        let body = body.replace(BREAKPOINT, "");
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
}

fn common_prefix<'a>(one: &str, other: &'a str) -> &'a str {
    let same = one.chars().zip(other.char_indices());
    let differs =
        same.take_while(|(sign, (_, other))| sign == other).last().map_or(0, |(sign, (at, _))| at + sign.len_utf8());
    other.get(..differs).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_prefixes() {
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
    fn shares_of_a_cache() {
        let epoch = |first_version| Epoch { first_version, ..Epoch::default() };
        let mut contexts = PrefixTracker::default();
        contexts.add("one two", epoch(1));
        contexts.add(&format!("one two{BREAKPOINT} three four"), epoch(1));
        contexts.add("four five six", epoch(2));
        let share = contexts.share;
        let expected = Share { contexts: 3, epochs: 2, compared: 2, sent: 7, served: 2, sent_at_breaks: 3 };
        assert_eq!(share, expected);
        let mut twice = share;
        twice.join(share);
        assert!((twice.served() - share.served()).abs() < f64::EPSILON);
        assert!((twice.contexts_per_epoch() - 1.5).abs() < f64::EPSILON);
    }
}
