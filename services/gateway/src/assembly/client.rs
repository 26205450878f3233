//! Where the client was when the conversation began; a fork began with its own first event.

use context::Policy;
use domain::{ClientContext, Fact, Version};
use wire::status::Problem;

use crate::Gateway;
use crate::history;
use crate::request::Target;

/// Reads the event of version `first`, which never changes, if the policy tells anything of it.
pub(super) async fn context(
    gateway: &Gateway,
    target: &Target,
    (policy, first): (&Policy, Version),
) -> Result<ClientContext, Problem> {
    if !policy.tells_of_client() {
        return Ok(ClientContext::default());
    }
    let first = history::newest(gateway, target, first..=first, &[]).await?;
    let Some(Fact::ConversationCreated(created)) = first.map(|first| first.event.fact) else {
        return Ok(ClientContext::default());
    };
    Ok(created.client_context)
}
