//! Where the client was when the conversation began; a fork began with its own first event.

use context::Policy;
use domain::{ClientContext, Fact, Version};
use wire::status::Problem;

use crate::Gateway;
use crate::fresh::Place;
use crate::history::{self, Range};
use crate::page::PageBounds;
use crate::request::Target;
use crate::window;

/// Reads the event of version `first`, which never changes, if the policy tells anything of it.
pub(super) async fn context(
    gateway: &Gateway,
    target: &Target,
    (policy, first): (&Policy, Version),
) -> Result<ClientContext, Problem> {
    if !policy.tells_of_client() {
        return Ok(ClientContext::default());
    }
    let range = Range {
        from: first,
        to: first,
        kinds: [].into(),
        after: Place::default(),
        bounds: PageBounds {
            events_max: 1,
            bytes_max: 1,
        },
    };
    let page = history::forward(gateway, target, &range).await?;
    let Some(row) = page.events.first() else {
        return Ok(ClientContext::default());
    };
    let first = window::recorded(&target.key, row)?;
    let Fact::ConversationCreated(created) = first.event.fact else {
        return Ok(ClientContext::default());
    };
    Ok(created.client_context)
}
