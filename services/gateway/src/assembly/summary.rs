//! The newest summary at or before a version that is not passed over.

use context::Policy;
use context::policy::SummaryUse;
use context::stages::summarise::Summary;
use domain::{EventKind, Fact, Version};
use wire::status::Problem;

use crate::Gateway;
use crate::history;
use crate::recent::Recent;
use crate::request::Target;

/// Reads the newest summary at or before a version, if the policy uses one; a conversation without any costs nothing.
pub(super) async fn newest(
    gateway: &Gateway,
    target: &Target,
    recent: &Recent,
    wanted: (&Policy, Version),
) -> Result<Option<Summary>, Problem> {
    let (policy, at) = wanted;
    let since = recent.lineage.summary_since(recent.latest_summary, at);
    let Some(mut from) = since.filter(|_| policy.summary == SummaryUse::Newest) else {
        return Ok(None);
    };
    let mut to = at;
    let event = loop {
        let kinds = [EventKind::HistorySummarised];
        let Some(event) = history::newest(gateway, target, from..=to, &kinds).await? else {
            return Ok(None);
        };
        if !recent.passed.hides(event.version) {
            break event;
        }
        // How far back the one before it is, nobody has told.
        (from, to) = (Version(1), recent.passed.shown(event.version));
    };
    let Fact::HistorySummarised(summarised) = event.event.fact else {
        return Ok(None);
    };
    Ok(Some(Summary {
        version: event.version,
        through: summarised.through,
        text: summarised.text,
        model: summarised.model,
    }))
}
