//! The point at which a fork continues another conversation.

use super::Rejection;
use crate::bounds::FORK_DEPTH_MAX;
use crate::event::ForkPoint;
use crate::head::{Head, Status};
use crate::id::{AgentId, ConversationId};
use crate::position::Version;

/// The source of a fork.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForkSource {
    /// It continues from this point.
    At(ForkPoint),
    /// This ancestor recorded the version: call again with the ancestor's head.
    Ancestor(ConversationId),
}

/// The source of a fork that continues `conversation`, whose head is `parent`, after a version.
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
    let origin = parent.forked_from.as_ref();
    if let Some(origin) = origin.filter(|origin| version <= origin.version) {
        return Ok(ForkSource::Ancestor(origin.conversation.clone()));
    }
    let depth = origin.map_or(0, |origin| origin.depth) + 1;
    if depth > FORK_DEPTH_MAX {
        return Err(Rejection::ForkTooDeep { depth_max: FORK_DEPTH_MAX });
    }
    Ok(ForkSource::At(ForkPoint { conversation: conversation.clone(), version, depth }))
}
