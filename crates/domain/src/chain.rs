//! The hash chain, which verifies the order and completeness of commits.

use std::fmt;

use sha2::{Digest, Sha256};

/// `sha256(previous chain ‖ body bytes)`; all zeroes before the first commit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ChainHash(pub [u8; 32]);

impl ChainHash {
    /// The chain after a commit with this body, in its plain encoding.
    #[must_use]
    pub fn next(self, body: &[u8]) -> Self {
        Self(Sha256::new().chain_update(self.0).chain_update(body).finalize().into())
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChainHash({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_content_change_the_chain() {
        let chain =
            |bodies: &[&str]| bodies.iter().fold(ChainHash::default(), |chain, body| chain.next(body.as_bytes()));
        assert_ne!(chain(&["a", "b"]), chain(&["b", "a"]));
        assert_ne!(chain(&["a", "b"]), chain(&["a", "c"]));
        assert_eq!(chain(&["a", "b"]), chain(&["a", "b"]));
    }
}
