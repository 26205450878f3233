//! What of a conversation is passed over: its rewinds, over rows and tail, and behind a fork.

use std::collections::BTreeSet;

use domain::{EventKind, PassedOver, Version};
use wire::status::Problem;

use crate::Gateway;
use crate::fresh::Place;
use crate::history::{self, Range};
use crate::page::PageBounds;
use crate::request::Target;
use crate::window;

/// Rewinds of one read.
const READ: PageBounds = PageBounds {
    events_max: 1_000,
    bytes_max: 1024 * 1024,
};

/// Reads what the rewinds up to a version pass over. A conversation without any need not ask.
///
/// # Errors
/// As [`history::backward`].
pub async fn passed_over(
    gateway: &Gateway,
    target: &Target,
    to: Version,
) -> Result<PassedOver, Problem> {
    let mut rewinds = Vec::new();
    let mut next = Some(to);
    while let Some(to) = next {
        let range = Range {
            from: Version::ZERO.next(),
            to,
            kinds: BTreeSet::from([EventKind::HistoryRewound]),
            after: Place::default(),
            bounds: READ,
        };
        let page = history::backward(gateway, target, &range).await?;
        for row in &page.events {
            rewinds.push(window::recorded(&target.key, row)?);
        }
        next = page.next.map(|next| next.version);
    }
    Ok(PassedOver::of(&rewinds))
}
