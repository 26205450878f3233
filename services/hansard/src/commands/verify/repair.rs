//! Repairs the rows of a conversation that differs.

use domain::ConversationKey;
use read_model::projections::conversations::verification::repair;

use super::examine::{Examination, commits_between, examine};
use super::problem::Problem;
use super::{Repair, Unfounded, VerifyJob};

/// The result of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RepairResult {
    /// The rows are correct now.
    Repaired,
    /// The rows would be repaired.
    WouldRepair,
    /// The rows are not repaired, with the reason.
    NotRepaired(&'static str),
}

/// Examines a conversation and repairs its rows, as the options demand. Returns the examination before the repair.
pub(super) async fn examine_and_repair(
    job: &VerifyJob,
    key: &ConversationKey,
) -> anyhow::Result<(Examination, RepairResult)> {
    let found = examine(job, key).await?;
    let obstacle = match job.repair {
        Repair::No => Some("not requested: give --repair"),
        Repair::Dry(unfounded) | Repair::Yes(unfounded) => obstacle(&found.problems, unfounded),
    };
    if let Some(why) = obstacle {
        return Ok((found, RepairResult::NotRepaired(why)));
    }
    if matches!(job.repair, Repair::Dry(_)) {
        return Ok((found, RepairResult::WouldRepair));
    }
    let partition = job.archive.partition_of(key).await?;
    let read = async |after, through| commits_between(job, key, after, through).await;
    repair(&job.model, key, partition, read).await?;
    let after = examine(job, key).await?;
    let result = match &after.problems[..] {
        [] if !after.is_unsettled => RepairResult::Repaired,
        [Problem::Parked(_)] => RepairResult::NotRepaired("repaired up to the commit at which it is parked"),
        _ => RepairResult::NotRepaired("differs again: check whether another process writes rows"),
    };
    Ok((found, result))
}

/// The reason why the rows cannot be repaired from the record.
fn obstacle(problems: &[Problem], unfounded: Unfounded) -> Option<&'static str> {
    let is_parking = |problem: &Problem| matches!(problem, Problem::Parked(_));
    if problems.iter().all(is_parking) {
        return Some("parked: run `hansard parked retry` or `hansard parked drop`");
    }
    if problems.iter().any(Problem::is_of_record) {
        return Some("the record has faults: restore it first");
    }
    let is_kept = unfounded == Unfounded::Kept && problems.iter().any(Problem::is_unfounded);
    is_kept.then_some("rows exist that the record does not contain: see --remove-unfounded")
}

#[cfg(test)]
mod tests {
    use domain::audit::Fault;
    use domain::{Sequence, Version};
    use read_model::projections::conversations::verification::Difference;

    use super::*;

    #[test]
    fn rows_are_repaired_only_from_a_record_without_faults() {
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
