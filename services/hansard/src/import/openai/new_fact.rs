//! A parsed fact with its metadata.

use wire::proto::event::v1::event::Fact;

/// A fact and the metadata of its event.
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
