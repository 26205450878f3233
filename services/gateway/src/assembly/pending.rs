//! Facts that are not recorded yet, behind a conversation's events: what a run has come to so far.

use domain::{CommitId, Event, EventId, EventTokens, Fact, Timestamp, Version};
use history::{Newest, decode};
use prost::Message as _;
use read_model::EventRow;
use uuid::Uuid;
use wire::status::Problem;

/// The commit that no pending fact is in yet.
const NO_COMMIT: CommitId = CommitId(Uuid::nil());

/// What facts stand behind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Behind {
    /// The last version of the history.
    pub(super) at: Version,
    /// The last version that is shared with another conversation: tokens are counted anew from there.
    pub(super) shared: Version,
}

/// Puts facts behind the newest events, at the versions that follow, weighed as the writer will.
pub(super) fn push(newest: &mut Newest<'_>, behind: Behind, facts: &[Fact]) -> Result<(), Problem> {
    let key = newest.cursor().snapshot().key();
    let last = newest.newest_first().next();
    let last = last.map(|row| decode(key, row)).transpose()?;
    let recorded_at = last.as_ref().map_or(Timestamp(0), |last| last.recorded_at);
    let own = last.filter(|last| last.version > behind.shared);
    let own = own.map_or(0, |last| last.event.tokens.through);
    // What a rewind hides was counted, too.
    let rewind = newest.cursor().segments().latest_rewind();
    let rewind = rewind.filter(|rewind| rewind.at > behind.shared);
    let mut through = own.max(rewind.map_or(0, |rewind| rewind.tokens_through));
    let mut version = behind.at;
    for (index, fact) in facts.iter().enumerate() {
        version = version.next();
        let own = tokens::of_fact(fact);
        through += u64::from(own);
        let event = Event {
            id: EventId::derived(NO_COMMIT, index),
            occurred_at: None,
            metadata: None,
            tokens: EventTokens { own, through },
            fact: fact.clone(),
        };
        newest.push_newer(EventRow {
            version,
            commit: NO_COMMIT,
            recorded_at,
            bytes: wire::event::to_proto(&event).encode_to_vec().into(),
        });
    }
    Ok(())
}
