//! A digest of a set of conversations and their last commits, which can be updated incrementally. Equal digests mean equal
//! sets.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::id::{ConversationId, TenantId};
use crate::position::{Sequence, Version};

/// The XOR over all conversations of `sha256(tenant ‖ 0 ‖ conversation ‖ 0 ‖ version ‖ sequence)`, both numbers as
/// eight bytes, big-endian. All zeroes for no conversation.
///
/// Version and sequence identify a commit, and a commit's head contains those of the previous commit. So an update needs no
/// read of earlier commits. Toggling the same digest twice removes it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SetDigest(pub [u8; 32]);

impl SetDigest {
    /// The digest of one conversation, whose last commit ends with this version and has this sequence.
    #[must_use]
    pub fn of(tenant: &TenantId, conversation: &ConversationId, version: Version, sequence: Sequence) -> Self {
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

    /// Adds the elements that only `other` has, and removes those that both have.
    pub fn toggle(&mut self, other: Self) {
        for (own, others) in self.0.iter_mut().zip(other.0) {
            *own ^= others;
        }
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// Parses 256 characters `0` and `1`, the highest bit first; `None`: the text has another form.
    #[must_use]
    pub fn from_bits(text: &str) -> Option<Self> {
        let mut digest = Self::default();
        let bits = text.as_bytes();
        if bits.len() != digest.0.len() * 8 {
            return None;
        }
        for (byte, bits) in digest.0.iter_mut().zip(bits.chunks(8)) {
            *byte = bits.iter().try_fold(0_u8, |byte, bit| match bit {
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
        assert_eq!(set(&[("a", 1, 1), ("b", 2, 5)]), set(&[("b", 2, 5), ("a", 1, 1)]));
        assert_eq!(set(&[("a", 1, 1), ("b", 2, 5), ("b", 2, 5)]), set(&[("a", 1, 1)]));
        for other in [("a", 2, 1), ("a", 1, 2), ("b", 1, 1)] {
            assert_ne!(set(&[("a", 1, 1)]), set(&[other]));
        }
        assert!(set(&[]).is_empty());
    }

    #[test]
    fn digests_never_change() {
        let digest = standing("c", 3, 7).to_string();
        assert_eq!(digest, "5ff8f8a1b249e39759f500d3a36541df3ba9fa7ed8abefd02e48d04e42d189ec");
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
