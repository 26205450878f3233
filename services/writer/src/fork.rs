//! From where a fork goes on: the conversation that really holds the version, however many forks lie between.

use domain::bounds::FORK_DEPTH_MAX;
use domain::{ConversationKey, ForkPoint, ForkSource, Rejection, fork_source};
use event_log::registry::AgentAccess;
use wire::conversation::fork_point_from_proto;
use wire::proto::event::v1 as proto;
use wire::status::Problem;

use crate::{Writer, problem};

/// The point that a fork leaves from, as a caller names it.
///
/// # Errors
/// A field breaks a rule, there is no such conversation for the caller, it does not reach that version, or too many stand
/// behind it.
pub async fn find(
    writer: &Writer,
    access: &AgentAccess,
    asked: proto::ForkPoint,
) -> Result<ForkPoint, Problem> {
    let asked = fork_point_from_proto(asked).map_err(|broken| broken.within("forked_from"))?;
    let mut conversation = asked.conversation;
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
