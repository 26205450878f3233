//! The fork point of a new conversation, in the ancestor that contains the version; and the check that all ancestors still
//! exist after the append of the fork.

mod confirm;
#[cfg(test)]
mod model;

use std::borrow::Cow;

use domain::bounds::FORK_DEPTH_MAX;
use domain::{Action, Command, ForkPoint, ForkSource, Rejection, fork_source};
use registry::AgentAccess;
use wire::status::Problem;

pub(crate) use confirm::POLL_INTERVAL;
pub(crate) use confirm::{Confirmation, DECISION_WAIT_MAX, confirm};

use crate::request::conversation_key;
use crate::{Intent, LoadedHead, Writer, problem};

/// The command of an intent; a command that creates a fork gets its fork point.
///
/// If the conversation exists, there is no search: an earlier attempt may have created it, and its parent may be erased since.
/// Errors: the caller has no such parent, the parent does not have that version, or there are too many ancestors.
pub(crate) async fn with_fork_point<'i>(
    writer: &Writer,
    intent: &'i Intent,
    loaded: &LoadedHead,
) -> Result<Cow<'i, Command>, Problem> {
    let command = &intent.command;
    let (Some(requested), None, Action::Create(create)) = (&intent.fork_from, loaded.head(), &command.action) else {
        return Ok(Cow::Borrowed(command));
    };
    let mut create = create.clone();
    create.created.forked_from = Some(find(writer, &intent.access, requested).await?);
    Ok(Cow::Owned(Command { action: Action::Create(create), ..command.clone() }))
}

/// The fork point. Versions never change, so that later appends do not change it.
async fn find(writer: &Writer, access: &AgentAccess, requested: &ForkPoint) -> Result<ForkPoint, Problem> {
    let mut conversation = requested.conversation.clone();
    for _ in 0..=FORK_DEPTH_MAX {
        let key = conversation_key(access, conversation);
        let loaded = writer.heads.load_from_leader(&key).await?;
        let source = fork_source(loaded.head(), &access.agent, &key.conversation, requested.version);
        match source.map_err(problem::from_rejection)? {
            ForkSource::At(point) => return Ok(point),
            ForkSource::Ancestor(further) => conversation = further,
        }
    }
    Err(problem::from_rejection(Rejection::ForkTooDeep { depth_max: FORK_DEPTH_MAX }))
}
