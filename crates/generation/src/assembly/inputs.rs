//! What a context needs besides its newest events: the client, the newest summary, and the instructions that the
//! conversation begins with.

use context::Policy;
use context::policy::SummaryUse;
use context::stages::own_instructions::{OWN_INSTRUCTIONS_EVENTS_MAX, OwnInstructions, own_instructions};
use context::stages::summarise::Summary;
use domain::{Annotation, ClientContext, EventKind, Fact, Lifecycle, Segments, Version};
use history::{Bounds, Direction, Page, Range, Snapshot, View, decode};
use wire::status::Problem;

use super::CONTEXT_BYTES_MAX;

/// The events that are searched for the conversation's own instructions: the first ones.
fn first() -> Bounds {
    Bounds::of(OWN_INSTRUCTIONS_EVENTS_MAX, CONTEXT_BYTES_MAX)
}

/// The client context in the event of version `first`, if the policy uses it. A fork has its own first event.
pub(super) async fn client(snapshot: &Snapshot<'_>, policy: &Policy, first: Version) -> Result<ClientContext, Problem> {
    if !policy.tells_of_client() {
        return Ok(ClientContext::default());
    }
    let range = Range { from: first, to: first, ..Range::all(Direction::Backward) };
    let first = snapshot.newest(range, View::Recorded).await?;
    let Some(Fact::Lifecycle(Lifecycle::ConversationCreated(created))) = first.map(|first| first.event.fact) else {
        return Ok(ClientContext::default());
    };
    Ok(created.client_context)
}

/// Reads the newest summary at or before a version, if the policy uses one; a conversation without any costs no read.
pub(super) async fn newest_summary(
    snapshot: &Snapshot<'_>,
    effective: &Segments,
    policy: &Policy,
    at: Version,
) -> Result<Option<Summary>, Problem> {
    if policy.summary != SummaryUse::Newest || !snapshot.has_summary() {
        return Ok(None);
    }
    let range = Range { to: at, kinds: &[EventKind::HistorySummarised], ..Range::all(Direction::Backward) };
    let Some(event) = snapshot.newest(range, View::Effective(effective)).await? else {
        return Ok(None);
    };
    let Fact::Annotation(Annotation::HistorySummarised(summarised)) = event.event.fact else {
        return Ok(None);
    };
    Ok(Some(Summary {
        version: event.version,
        through: summarised.through,
        text: summarised.text,
        model: summarised.model,
    }))
}

/// The conversation's own instructions up to a version, and no further than the first event that a rewind hides.
pub(super) async fn first_instructions(
    snapshot: &Snapshot<'_>,
    effective: &Segments,
    at: Version,
) -> Result<Option<OwnInstructions>, Problem> {
    let range = Range {
        to: at.min(Version(u64::from(OWN_INSTRUCTIONS_EVENTS_MAX))),
        kinds: &[EventKind::MessageAppended],
        ..Range::all(Direction::Forward)
    };
    let mut cursor = snapshot.cursor(range, View::Recorded);
    let page = Page::read(&mut cursor, first()).await?;
    let shown = page.events.iter().take_while(|row| effective.contains(row.version));
    let first = shown.map(|row| decode(snapshot.key(), row));
    Ok(own_instructions(first.collect::<Result<Vec<_>, _>>()?))
}
