//! A digest of a set of conversations by where each stands, that can be kept while they move: two sets are the same where
//! their digests are.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::id::{ConversationId, TenantId};
use crate::position::{Sequence, Version};

/// The XOR of every conversation's standing: `sha256(tenant ‖ 0 ‖ conversation ‖ 0 ‖ version ‖ sequence)`, both numbers as
/// eight bytes, the highest first. All zeroes for no conversation.
///
/// Version and sequence name a commit as its chain does, and a commit's head names those of the commit before it: so the
/// digest is kept without reading what is left behind. Toggling a standing twice takes it out again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SetDigest(pub [u8; 32]);

impl SetDigest {
    /// The digest of one conversation, whose last commit ends with this version and has this sequence.
    #[must_use]
    pub fn of(
        tenant: &TenantId,
        conversation: &ConversationId,
        version: Version,
        sequence: Sequence,
    ) -> Self {
        Self(
            Sha256::new()
                .chain_update(tenant.as_str())
                .chain_update([0])
                .chain_update(conversation.as_str())
                .chain_update([0])
                .chain_update(version.0.to_be_bytes())
                .chain_update(sequence.0.to_be_bytes())
                .finalize()
                .into(),
        )
    }

    /// Takes in what `other` has and this has not, and takes out what both have.
    pub fn toggle(&mut self, other: Self) {
        for (own, others) in self.0.iter_mut().zip(other.0) {
            *own ^= others;
        }
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// The digest that 256 signs `0` and `1` write, the highest bit first; `None`: the text is none.
    #[must_use]
    pub fn from_bits(text: &str) -> Option<Self> {
        let mut digest = Self::default();
        let signs = text.as_bytes();
        if signs.len() != digest.0.len() * 8 {
            return None;
        }
        for (byte, signs) in digest.0.iter_mut().zip(signs.chunks(8)) {
            *byte = signs.iter().try_fold(0_u8, |byte, sign| match sign {
                b'0' => Some(byte << 1),
                b'1' => Some(byte << 1 | 1),
                _ => None,
            })?;
        }
        Some(digest)
    }
}

impl fmt::Display for SetDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for SetDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SetDigest({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(conversation: &str, version: u64, sequence: u64) -> SetDigest {
        let tenant = TenantId::parse("acme").unwrap();
        let conversation = ConversationId::parse(conversation).unwrap();
        SetDigest::of(&tenant, &conversation, Version(version), Sequence(sequence))
    }

    fn set(standings: &[(&str, u64, u64)]) -> SetDigest {
        let mut digest = SetDigest::default();
        for (conversation, version, sequence) in standings {
            digest.toggle(standing(conversation, *version, *sequence));
        }
        digest
    }

    #[test]
    fn a_set_has_no_order_and_each_standing_counts() {
        assert_eq!(
            set(&[("a", 1, 1), ("b", 2, 5)]),
            set(&[("b", 2, 5), ("a", 1, 1)])
        );
        assert_eq!(
            set(&[("a", 1, 1), ("b", 2, 5), ("b", 2, 5)]),
            set(&[("a", 1, 1)])
        );
        for other in [("a", 2, 1), ("a", 1, 2), ("b", 1, 1)] {
            assert_ne!(set(&[("a", 1, 1)]), set(&[other]));
        }
        assert!(set(&[]).is_empty());
    }

    #[test]
    fn digests_never_change() {
        let digest = standing("c", 3, 7).to_string();
        assert_eq!(
            digest,
            "5ff8f8a1b249e39759f500d3a36541df3ba9fa7ed8abefd02e48d04e42d189ec"
        );
    }

    #[test]
    fn bits_are_read() {
        let digest = standing("c", 3, 7);
        let bits = digest.0.map(|byte| format!("{byte:08b}")).concat();
        assert_eq!(SetDigest::from_bits(&bits), Some(digest));
        assert_eq!(SetDigest::from_bits(&bits[1..]), None);
        assert_eq!(SetDigest::from_bits(&bits.replace('1', "2")), None);
    }
}
