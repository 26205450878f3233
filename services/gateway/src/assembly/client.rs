//! The client context of a conversation's first event. A fork has its own first event.

use context::Policy;
use domain::{ClientContext, Fact, Lifecycle, Version};
use history::{Direction, Query, Snapshot, View};
use wire::status::Problem;

/// Reads it from the event of version `first`, if the policy uses it.
pub(super) async fn context(
    snapshot: &Snapshot<'_>,
    policy: &Policy,
    first: Version,
) -> Result<ClientContext, Problem> {
    if !policy.tells_of_client() {
        return Ok(ClientContext::default());
    }
    let query = Query {
        from: first,
        to: first,
        ..Query::all(Direction::Backward)
    };
    let first = snapshot.newest(query, View::Recorded).await?;
    let Some(Fact::Lifecycle(Lifecycle::ConversationCreated(created))) =
        first.map(|first| first.event.fact)
    else {
        return Ok(ClientContext::default());
    };
    Ok(created.client_context)
}
