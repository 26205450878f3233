//! Selects conversations by hash: always the same ones, in any order.

use std::collections::BTreeMap;
use std::str::FromStr;

use domain::ConversationKey;
use sha2::{Digest as _, Sha256};

/// The maximum number of conversations of a sample.
const SAMPLE_MAX: usize = 1_000_000;
/// Shares are in millionths.
const MILLION: u64 = 1_000_000;

/// The size of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sample {
    /// A number of conversations, at most a million.
    Count(usize),
    /// A share in millionths, at most a million conversations.
    Share(u64),
}

impl FromStr for Sample {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || format!("must be a count from 1 to {SAMPLE_MAX}, or a share such as 5%");
        if let Some(percent) = text.strip_suffix('%') {
            return share_of(percent).map(Self::Share).ok_or_else(invalid);
        }
        let count: usize = text.parse().map_err(|_| invalid())?;
        let fits = (1..=SAMPLE_MAX).contains(&count);
        fits.then_some(Self::Count(count)).ok_or_else(invalid)
    }
}

/// Parses a percentage with up to four decimals into millionths, from 1 to all.
fn share_of(percent: &str) -> Option<u64> {
    let (whole, decimals) = percent.split_once('.').unwrap_or((percent, ""));
    let whole: u64 = whole.parse().ok()?;
    let digits = format!("{decimals:0<4}");
    let decimals: u64 = (digits.len() == 4).then(|| digits.parse().ok())??;
    let share = whole.checked_mul(10_000)?.checked_add(decimals)?;
    (1..=MILLION).contains(&share).then_some(share)
}

impl Sample {
    /// Starts the selection with this seed.
    pub(super) fn with_seed(self, seed: u64) -> SampleSelection {
        SampleSelection { sample: self, seed, keys: BTreeMap::new() }
    }
}

/// The conversations that are selected so far.
#[derive(Debug)]
pub(super) struct SampleSelection {
    sample: Sample,
    seed: u64,
    keys: BTreeMap<u64, ConversationKey>,
}

impl SampleSelection {
    /// Selects a conversation or skips it. A repeated call changes nothing.
    pub(super) fn offer(&mut self, key: ConversationKey) {
        let hash = self.hash(&key);
        let max = match self.sample {
            Sample::Count(count) => count,
            Sample::Share(share) if hash % MILLION < share => SAMPLE_MAX,
            Sample::Share(_) => return,
        };
        self.keys.insert(hash, key);
        if self.keys.len() > max {
            self.keys.pop_last();
        }
    }

    /// The selected conversations.
    pub(super) fn into_keys(self) -> impl ExactSizeIterator<Item = ConversationKey> {
        self.keys.into_values()
    }

    fn hash(&self, key: &ConversationKey) -> u64 {
        let digest = Sha256::new()
            .chain_update(self.seed.to_be_bytes())
            .chain_update(key.tenant.as_str())
            .chain_update([0])
            .chain_update(key.conversation.as_str())
            .finalize();
        let first = digest.iter().take(8);
        first.fold(0, |hash, byte| (hash << 8) | u64::from(*byte))
    }
}

#[cfg(test)]
mod tests {
    use domain::{ConversationId, TenantId};

    use super::*;

    #[test]
    fn counts_and_shares_are_parsed() {
        let check = |text: &str, expected| assert_eq!(text.parse().ok(), expected, "{text}");
        check("1", Some(Sample::Count(1)));
        check("1000000", Some(Sample::Count(1_000_000)));
        check("5%", Some(Sample::Share(50_000)));
        check("0.0001%", Some(Sample::Share(1)));
        check("2.5%", Some(Sample::Share(25_000)));
        check("100%", Some(Sample::Share(1_000_000)));
        for text in ["", "0", "1000001", "-1", "0%", "101%", "100.1%", "0.00001%", "%", "x%", "1.5"] {
            check(text, None);
        }
    }

    fn selected(sample: Sample, seed: u64, order: impl Iterator<Item = u32>) -> Vec<String> {
        let mut selected = sample.with_seed(seed);
        for n in order {
            selected.offer(ConversationKey {
                tenant: TenantId::parse("acme").unwrap(),
                conversation: ConversationId::parse(format!("c{n}")).unwrap(),
            });
        }
        selected.into_keys().map(|key| super::super::problem::name(&key)).collect()
    }

    #[test]
    fn the_selection_does_not_depend_on_the_order() {
        for sample in [Sample::Count(100), Sample::Share(100_000)] {
            let first = selected(sample, 7, 0..1_000);
            let again = selected(sample, 7, (0..1_000).rev().chain(0..1_000));
            assert_eq!(first, again);
            assert!((60..=140).contains(&first.len()), "{}", first.len());
            assert_ne!(first, selected(sample, 8, 0..1_000));
        }
        assert_eq!(selected(Sample::Count(100), 0, 0..1_000).len(), 100);
        assert_eq!(selected(Sample::Count(100), 0, 0..30).len(), 30);
    }
}
