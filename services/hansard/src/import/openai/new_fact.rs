//! A fact that is not in a conversation yet.

use wire::proto::event::v1::event::Fact;

/// A fact, with what is kept beside it.
pub(super) struct NewFact {
    pub(super) fact: Fact,
    pub(super) metadata_json: String,
}

impl From<Fact> for NewFact {
    fn from(fact: Fact) -> Self {
        Self {
            fact,
            metadata_json: String::new(),
        }
    }
}
