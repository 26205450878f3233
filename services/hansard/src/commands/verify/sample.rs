//! Choosing conversations by hash: the same ones each time, whatever their order.

use std::collections::BTreeMap;
use std::str::FromStr;

use domain::ConversationKey;
use sha2::{Digest as _, Sha256};

/// Most conversations of a sample.
const SAMPLE_MAX: usize = 1_000_000;
/// Shares are counted in millionths.
const MILLION: u64 = 1_000_000;

/// How much to choose, as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sample {
    /// So many; at most a million.
    Count(usize),
    /// So many in a million, at most a million conversations.
    Share(u64),
}

impl FromStr for Sample {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mend = || format!("give a count from 1 to {SAMPLE_MAX}, or a share such as 5%");
        if let Some(percent) = text.strip_suffix('%') {
            return share_of(percent).map(Self::Share).ok_or_else(mend);
        }
        let count: usize = text.parse().map_err(|_| mend())?;
        let fits = (1..=SAMPLE_MAX).contains(&count);
        fits.then_some(Self::Count(count)).ok_or_else(mend)
    }
}

/// The millionths that a percentage with up to four decimals is; more than none, and at most all.
fn share_of(percent: &str) -> Option<u64> {
    let (whole, decimals) = percent.split_once('.').unwrap_or((percent, ""));
    let whole: u64 = whole.parse().ok()?;
    let decimals = format!("{decimals:0<4}");
    let decimals: u64 = (decimals.len() == 4).then(|| decimals.parse().ok())??;
    let share = whole.checked_mul(10_000)?.checked_add(decimals)?;
    (1..=MILLION).contains(&share).then_some(share)
}

impl Sample {
    /// The sample that is chosen with this seed.
    pub(super) fn with_seed(self, seed: u64) -> Chosen {
        Chosen {
            sample: self,
            seed,
            keys: BTreeMap::new(),
        }
    }
}

/// The conversations that are chosen so far.
#[derive(Debug)]
pub(super) struct Chosen {
    sample: Sample,
    seed: u64,
    keys: BTreeMap<u64, ConversationKey>,
}

impl Chosen {
    /// Sees a conversation, and chooses it or not; seeing it again changes nothing.
    pub(super) fn see(&mut self, key: ConversationKey) {
        let hash = self.hash(&key);
        let most = match self.sample {
            Sample::Count(count) => count,
            Sample::Share(share) if hash % MILLION < share => SAMPLE_MAX,
            Sample::Share(_) => return,
        };
        self.keys.insert(hash, key);
        if self.keys.len() > most {
            self.keys.pop_last();
        }
    }

    /// The conversations that were chosen.
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
    fn counts_and_shares_are_read() {
        let check = |text: &str, expected| assert_eq!(text.parse().ok(), expected, "{text}");
        check("1", Some(Sample::Count(1)));
        check("1000000", Some(Sample::Count(1_000_000)));
        check("5%", Some(Sample::Share(50_000)));
        check("0.0001%", Some(Sample::Share(1)));
        check("2.5%", Some(Sample::Share(25_000)));
        check("100%", Some(Sample::Share(1_000_000)));
        for text in [
            "", "0", "1000001", "-1", "0%", "101%", "100.1%", "0.00001%", "%", "x%", "1.5",
        ] {
            check(text, None);
        }
    }

    fn chosen(sample: Sample, seed: u64, order: impl Iterator<Item = u32>) -> Vec<String> {
        let mut chosen = sample.with_seed(seed);
        for n in order {
            chosen.see(ConversationKey {
                tenant: TenantId::parse("acme").unwrap(),
                conversation: ConversationId::parse(format!("c{n}")).unwrap(),
            });
        }
        chosen
            .into_keys()
            .map(|key| super::super::problem::name(&key))
            .collect()
    }

    #[test]
    fn the_same_conversations_are_chosen_in_any_order() {
        for sample in [Sample::Count(100), Sample::Share(100_000)] {
            let first = chosen(sample, 7, 0..1_000);
            let again = chosen(sample, 7, (0..1_000).rev().chain(0..1_000));
            assert_eq!(first, again);
            assert!((60..=140).contains(&first.len()), "{}", first.len());
            assert_ne!(first, chosen(sample, 8, 0..1_000));
        }
        assert_eq!(chosen(Sample::Count(100), 0, 0..1_000).len(), 100);
        assert_eq!(chosen(Sample::Count(100), 0, 0..30).len(), 30);
    }
}
