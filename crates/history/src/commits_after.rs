//! The commits after a position, for callers that follow a conversation.

use std::sync::Arc;

use domain::{ForkPoint, Status};
use wire::status::Problem;

use crate::lineage;
use crate::position::CommitPosition;
use crate::problem;
use crate::tail::Tail;
use crate::target::{Reader, Target};

/// The commits of a conversation after a position, read from the leader of the stream; `None`: there are none.
///
/// # Errors
/// The conversation or an ancestor was erased, or a dependency does not answer.
pub async fn commits_after(
    reader: &Reader,
    target: &Target,
    after: CommitPosition,
    forked_from: Option<&ForkPoint>,
) -> Result<Option<Tail>, Problem> {
    if let Some(from) = forked_from {
        Box::pin(lineage::read(reader, target, from)).await?;
    }
    let last = target.deadline.record(reader.archive.last_commit(&target.key)).await?;
    let Some(last) = last.filter(|last| last.position.sequence > after.sequence) else {
        return Ok(None);
    };
    let last = last.open().map_err(|corrupt| problem::of_corrupt(&corrupt))?;
    if last.opened.commit.head.status == Status::Erased {
        return Err(problem::not_found());
    }
    Ok(Some(Tail::new(target.key.clone(), after, Arc::new(last))))
}
