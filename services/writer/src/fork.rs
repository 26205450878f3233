//! From where a fork goes on: the conversation that really holds the version, however many forks lie between; and whether
//! all that it reads through is still there once it was appended.

mod confirm;
#[cfg(test)]
mod model;

use std::borrow::Cow;

use domain::bounds::FORK_DEPTH_MAX;
use domain::event::ConversationCreated;
use domain::{Action, Command, ConversationKey, ForkPoint, ForkSource, Rejection, fork_source};
use event_log::registry::AgentAccess;
use wire::status::Problem;

pub(crate) use confirm::LOOK_EVERY;
pub use confirm::{Confirmation, DECISION_WAIT_MAX, confirm};

use crate::base::Loaded;
use crate::intent::Intent;
use crate::{Writer, problem};

/// The command of an intent, with the point that its fork leaves from where one is to begin.
///
/// Where the conversation is there already, nothing is looked for: an earlier try may have begun it, whatever became of
/// its parent since.
///
/// # Errors
/// There is no such parent for the caller, it does not reach that version, or too many stand behind it.
pub async fn placed<'i>(
    writer: &Writer,
    intent: &'i Intent,
    loaded: &Loaded,
) -> Result<Cow<'i, Command>, Problem> {
    let command = &intent.command;
    let (
        Some(asked),
        None,
        Action::Create {
            created,
            occurred_at,
        },
    ) = (&intent.forks, loaded.head(), &command.action)
    else {
        return Ok(Cow::Borrowed(command));
    };
    let created = ConversationCreated {
        forked_from: Some(find(writer, &intent.access, asked).await?),
        ..created.as_ref().clone()
    };
    Ok(Cow::Owned(Command {
        action: Action::Create {
            created: Box::new(created),
            occurred_at: *occurred_at,
        },
        ..command.clone()
    }))
}

/// The point that a fork leaves from; versions never change, so it holds whoever appends meanwhile.
async fn find(
    writer: &Writer,
    access: &AgentAccess,
    asked: &ForkPoint,
) -> Result<ForkPoint, Problem> {
    let mut conversation = asked.conversation.clone();
    for _ in 0..=FORK_DEPTH_MAX {
        let key = ConversationKey {
            tenant: access.tenant.tenant().clone(),
            conversation,
        };
        let loaded = writer.bases.load_certain(&key).await?;
        let source = fork_source(
            loaded.head(),
            &access.agent,
            &key.conversation,
            asked.version,
        );
        match source.map_err(|rejection| problem::of_rejection(&rejection))? {
            ForkSource::At(point) => return Ok(point),
            ForkSource::FurtherBack(further) => conversation = further,
        }
    }
    Err(problem::of_rejection(&Rejection::ForkTooDeep {
        depth_max: FORK_DEPTH_MAX,
    }))
}
