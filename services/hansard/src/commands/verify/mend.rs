//! What is done about a conversation that differs.

use domain::ConversationKey;
use read_model::projections::conversations::verification::repair;

use super::examine::{Examined, commits_between, examine};
use super::problem::Problem;
use super::{Ground, Repair, Unfounded};

/// What became of a conversation that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mended {
    /// Its rows are whole now.
    Yes,
    /// They would be written anew.
    Would,
    /// They are as they were; why, in words.
    No(&'static str),
}

/// Examines a conversation, and writes its rows anew if they differ and that is wanted; what was found before that.
pub(super) async fn settle(
    ground: &Ground,
    key: &ConversationKey,
) -> anyhow::Result<(Examined, Mended)> {
    let found = examine(ground, key).await?;
    let unfounded = match ground.repair {
        Repair::No => return Ok((found, Mended::No("not asked for"))),
        Repair::Dry(unfounded) | Repair::Yes(unfounded) => unfounded,
    };
    if let Some(why) = obstacle(&found.problems, unfounded) {
        return Ok((found, Mended::No(why)));
    }
    if matches!(ground.repair, Repair::Dry(_)) {
        return Ok((found, Mended::Would));
    }
    let partition = ground.record.partition_of(key);
    let read = async |after, through| commits_between(ground, key, after, through).await;
    repair(&ground.model, key, partition, read).await?;
    let after = examine(ground, key).await?;
    let mended = match &after.problems[..] {
        [] if !after.is_unsettled => Mended::Yes,
        [Problem::Parked(_)] => Mended::No("written anew up to where it is parked"),
        _ => Mended::No("it differs again: is something else writing rows?"),
    };
    Ok((found, mended))
}

/// Why rows cannot be written from the record.
fn obstacle(problems: &[Problem], unfounded: Unfounded) -> Option<&'static str> {
    if problems.iter().all(is_parking) {
        return Some("there is nothing to write: parked conversations are retried or dropped");
    }
    if problems.iter().any(Problem::is_of_record) {
        return Some("the record is not whole: restore it first");
    }
    let is_kept = unfounded == Unfounded::Kept && problems.iter().any(Problem::is_unfounded);
    is_kept.then_some("the record does not know all of its rows: see --remove-unfounded")
}

fn is_parking(problem: &Problem) -> bool {
    matches!(problem, Problem::Parked(_))
}

#[cfg(test)]
mod tests {
    use domain::audit::Fault;
    use domain::{Sequence, Version};
    use read_model::projections::conversations::verification::Difference;

    use super::*;

    #[test]
    fn rows_are_written_from_a_whole_record_only() {
        let missing = || Problem::Rows(Difference::EventMissing(Version(1)));
        let unknown = || Problem::Rows(Difference::EventUnfounded(Version(9)));
        let broken = || Problem::Record(Sequence(1), Fault::Chain);
        let parked = || Problem::Parked(Sequence(1));
        let check = |problems: &[Problem], unfounded, can: bool| {
            assert_eq!(obstacle(problems, unfounded).is_none(), can, "{problems:?}");
        };
        check(&[missing()], Unfounded::Kept, true);
        check(&[missing(), parked()], Unfounded::Kept, true);
        check(&[parked()], Unfounded::Kept, false);
        check(&[], Unfounded::Kept, false);
        check(&[missing(), broken()], Unfounded::Removed, false);
        check(&[missing(), unknown()], Unfounded::Kept, false);
        check(&[missing(), unknown()], Unfounded::Removed, true);
    }
}
