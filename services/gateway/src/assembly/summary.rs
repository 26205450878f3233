//! The newest summary of the effective history.

use context::Policy;
use context::policy::SummaryUse;
use context::stages::summarise::Summary;
use domain::{Annotation, EventKind, Fact, Segments, Version};
use history::{Direction, Query, Snapshot, View};
use wire::status::Problem;

/// Reads the newest summary at or before a version, if the policy uses one; a conversation without any costs no read.
pub(super) async fn newest(
    snapshot: &Snapshot<'_>,
    effective: &Segments,
    policy: &Policy,
    at: Version,
) -> Result<Option<Summary>, Problem> {
    if policy.summary != SummaryUse::Newest || !snapshot.has_summary() {
        return Ok(None);
    }
    let query = Query {
        to: at,
        kinds: &[EventKind::HistorySummarised],
        ..Query::all(Direction::Backward)
    };
    let Some(event) = snapshot.newest(query, View::Effective(effective)).await? else {
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
