//! The instructions that a conversation begins with, for contexts that its beginning is not in.

use context::stages::own_instructions::{
    OWN_INSTRUCTIONS_EVENTS_MAX, OwnInstructions, own_instructions,
};
use domain::{EventKind, Version};
use wire::status::Problem;

use crate::Gateway;
use crate::fresh::Place;
use crate::history::{self, Range};
use crate::page::PageBounds;
use crate::recent::Recent;
use crate::request::Target;
use crate::rpc::CONTEXT_BYTES_MAX;
use crate::window;

/// Reads them up to a version, but for what a rewind passes over.
pub(super) async fn read(
    gateway: &Gateway,
    target: &Target,
    (recent, at): (&Recent, Version),
) -> Result<Option<OwnInstructions>, Problem> {
    let range = Range {
        from: Version::ZERO.next(),
        to: at.min(Version(u64::from(OWN_INSTRUCTIONS_EVENTS_MAX))),
        kinds: [EventKind::MessageAppended].into(),
        after: Place::default(),
        bounds: PageBounds {
            events_max: OWN_INSTRUCTIONS_EVENTS_MAX,
            bytes_max: CONTEXT_BYTES_MAX,
        },
    };
    let page = history::forward(gateway, target, &range).await?;
    let shown = page.events.iter();
    let shown = shown.take_while(|row| !recent.passed.hides(row.version));
    let first = shown.map(|row| window::recorded(&target.key, row));
    Ok(own_instructions(first.collect::<Result<Vec<_>, _>>()?))
}
