//! Facts of a run that are not recorded yet, appended to the events of a conversation.

use domain::{CommitId, Event, EventId, EventTokens, Fact, Timestamp, Version};
use history::{Newest, decode};
use prost::Message as _;
use read_model::EventRow;
use uuid::Uuid;
use wire::status::Problem;

/// The commit id of unrecorded facts.
const NO_COMMIT: CommitId = CommitId(Uuid::nil());

/// What the facts follow.
#[derive(Debug, Clone, Copy)]
pub(super) struct After {
    /// The last version of the history.
    pub(super) at: Version,
    /// The last inherited version: the conversation counts tokens from there.
    pub(super) inherited: Version,
}

/// Appends facts to the newest events, with the versions and token counts that the writer will give them.
pub(super) fn push(newest: &mut Newest<'_>, after: After, facts: &[Fact]) -> Result<(), Problem> {
    let key = newest.cursor().snapshot().key();
    let last = newest.newest_first().next();
    let last = last.map(|row| decode(key, row)).transpose()?;
    let recorded_at = last.as_ref().map_or(Timestamp(0), |last| last.recorded_at);
    let own = last.filter(|last| last.version > after.inherited);
    let own = own.map_or(0, |last| last.event.tokens.through);
    // Token counts include hidden events.
    let rewind = newest.cursor().segments().latest_rewind();
    let rewind = rewind.filter(|rewind| rewind.at > after.inherited);
    let mut through = own.max(rewind.map_or(0, |rewind| rewind.tokens_through));
    let mut version = after.at;
    for (index, fact) in facts.iter().enumerate() {
        version = version.next();
        let own = tokens::count_fact(fact);
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
