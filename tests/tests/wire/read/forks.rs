//! Forks and changes of owners: a fork and its ancestors read as one history.

mod contexts;
mod creation;
mod erasure;
mod erasure_races;
mod events;
mod owners;
mod tree;
mod watch;

use tests::agent::{Agent, Outcome};
use wire::proto::event::v1::ForkPoint;
use wire::proto::write::v1::{CommitResult, CreateConversationRequest};

/// A request to create a fork of a conversation after one of its versions.
fn fork_request(agent: &Agent, id: &str, parent: &str, version: u64) -> CreateConversationRequest {
    CreateConversationRequest {
        forked_from: Some(ForkPoint { conversation_id: parent.to_owned(), version, depth: 0 }),
        ..agent.create_request(id)
    }
}

async fn try_fork(agent: &Agent, id: &str, parent: &str, version: u64) -> Outcome {
    agent.try_create(fork_request(agent, id, parent, version)).await
}

pub(in crate::read) async fn fork(agent: &Agent, id: &str, parent: &str, version: u64) -> CommitResult {
    let fork = try_fork(agent, id, parent, version).await;
    fork.unwrap_or_else(|status| panic!("{id} of {parent} at {version}: {status:?}"))
}

/// The fork point, as readers see it.
async fn fork_point_of(agent: &Agent, id: &str) -> (String, u64, u32) {
    let from = agent.conversation(id).await.forked_from.expect("a fork");
    (from.conversation_id, from.version, from.depth)
}
