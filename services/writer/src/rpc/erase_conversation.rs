//! Erases a conversation. The call returns when the tombstone is durable; the commits before it are removed in the background.

use domain::{Action, ForkRule, Violation, ViolationReason};
use tonic::{Request, Status};
use tracing::Instrument as _;

use super::{Problem, Writer, commit_in_turn, optional_owner, proto};
use crate::Intent;
use crate::request::{intent, split};

pub(super) async fn handle(
    writer: &Writer,
    request: Request<proto::EraseConversationRequest>,
) -> Result<(proto::CommitResult, u64), Status> {
    let (caller, digest, mut request) = split(request);
    let action = action(&mut request).map_err(Problem::from)?;
    let intent = intent(writer, &caller, request.target.as_ref(), digest, action).await?;
    // Independent of the call: a cancelled erasure leaves its entry, which delays forks.
    let erasing = erase(writer.clone(), intent).in_current_span();
    let erased = writer.removals.spawn_detached(erasing).await;
    Ok(erased.map_err(|_| Status::internal("the erasure ended without an outcome"))??)
}

fn action(request: &mut proto::EraseConversationRequest) -> Result<Action, Violation> {
    Ok(Action::Erase { expected: optional_owner(request.expected_owner.take())?, forks: fork_rule(request.forks)? })
}

/// The result, and the number of commits that are not removed yet.
async fn erase(writer: Writer, intent: Intent) -> Result<(proto::CommitResult, u64), Problem> {
    let key = intent.key.clone();
    let result = commit_in_turn(&writer, intent).await?;
    Ok((result, writer.removals.after_tombstone(&key).await))
}

fn fork_rule(rule: i32) -> Result<ForkRule, Violation> {
    match proto::ForkRule::try_from(rule) {
        Ok(proto::ForkRule::Unspecified | proto::ForkRule::Refuse) => Ok(ForkRule::Refuse),
        Ok(proto::ForkRule::Sever) => Ok(ForkRule::Sever),
        Err(_) => {
            let rule = "is not a fork rule: use FORK_RULE_REFUSE or FORK_RULE_SEVER";
            Err(Violation::new(ViolationReason::Malformed, rule).within("forks"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_erasure_refuses_forks_by_default() {
        assert_eq!(fork_rule(0), Ok(ForkRule::Refuse));
        assert_eq!(fork_rule(proto::ForkRule::Refuse.into()), Ok(ForkRule::Refuse));
        assert_eq!(fork_rule(proto::ForkRule::Sever.into()), Ok(ForkRule::Sever));
        let violation = fork_rule(99).unwrap_err();
        assert_eq!((violation.reason, violation.field.to_string().as_str()), (ViolationReason::Malformed, "forks"));
    }
}
