//! Stacks with a second database.

use read_model::ShardConfig;

use crate::node::Node;
use crate::settings::Role;
use crate::stack::{Setup, Stack};

/// The name of the shard.
pub const SHARD: &str = "eu";

/// The shard at a URL, with these tenants.
#[must_use]
pub fn shard(database_url: &str, tenants: &[&str]) -> ShardConfig {
    ShardConfig {
        name: SHARD.to_owned(),
        database_url: database_url.to_owned(),
        tenants: tenants.iter().map(|tenant| (*tenant).to_owned()).collect(),
        replica_urls: Vec::new(),
    }
}

/// Gives every role of a stack these shards, for its next start.
pub fn set(stack: &mut Stack, shards: &[ShardConfig]) {
    stack.change(|settings| {
        settings.writer.read_model.shards = shards.to_vec();
        settings.projector.read_model.shards = shards.to_vec();
        settings.gateway.read_model.primary.shards = shards.to_vec();
    });
}

/// Gives a projector these shards, for its next start.
pub fn set_of(projector: &mut Node, shards: &[ShardConfig]) {
    projector.settings.projector.read_model.shards = shards.to_vec();
}

/// Starts a stack with a shard, and the projector of the shard.
pub async fn start(shard: ShardConfig) -> (Stack, Node) {
    let mut stack = Setup::tasks().prepare().await;
    set(&mut stack, std::slice::from_ref(&shard));
    Box::pin(stack.start()).await;
    let mut projector = stack.another(Role::Projector);
    projector.settings.projector.shard = shard.name;
    projector.start().await;
    (stack, projector)
}
