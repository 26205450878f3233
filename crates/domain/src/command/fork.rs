//! Where a fork leaves the conversation that it goes on from.

use super::Rejection;
use crate::bounds::FORK_DEPTH_MAX;
use crate::event::ForkPoint;
use crate::head::{Head, Status};
use crate::id::{AgentId, ConversationId};
use crate::position::Version;

/// From where a fork goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForkSource {
    /// From this point.
    At(ForkPoint),
    /// From this conversation further back, at the same version, which the other one shares: ask again with its head.
    FurtherBack(ConversationId),
}

/// From where a fork goes on that leaves `conversation`, whose head is `parent`, behind a version.
///
///
/// # Errors
/// [`Rejection::ForkPointMissing`], also for another agent's conversation and an erased one; [`Rejection::ForkTooDeep`].
pub fn fork_source(
    parent: Option<&Head>,
    agent: &AgentId,
    conversation: &ConversationId,
    version: Version,
) -> Result<ForkSource, Rejection> {
    let parent = parent
        .filter(|parent| parent.agent == *agent && parent.status != Status::Erased)
        .filter(|parent| version > Version::ZERO && version <= parent.version)
        .ok_or(Rejection::ForkPointMissing)?;
    let behind = parent.forked_from.as_ref();
    if let Some(behind) = behind.filter(|behind| version <= behind.version) {
        return Ok(ForkSource::FurtherBack(behind.conversation.clone()));
    }
    let depth = behind.map_or(0, |behind| behind.depth) + 1;
    if depth > FORK_DEPTH_MAX {
        return Err(Rejection::ForkTooDeep {
            depth_max: FORK_DEPTH_MAX,
        });
    }
    Ok(ForkSource::At(ForkPoint {
        conversation: conversation.clone(),
        version,
        depth,
    }))
}
