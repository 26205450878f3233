//! Erase a conversation for good: answered once the tombstone is durable; what is before it is removed in the background.

use domain::{Action, ForkRule, Owner, Violation, ViolationReason};
use tonic::{Request, Response, Status};
use tracing::Instrument as _;
use wire::conversation::owner_from_proto;
use wire::proto::write::v1 as proto;
use wire::proto::write::v1::{EraseConversationRequest, EraseConversationResponse};
use wire::status::Problem;

use super::carry_out;
use crate::Writer;
use crate::intent::Intent;
use crate::request::{Asked, Caller, digest, intent};

pub(super) async fn handle(
    writer: &Writer,
    request: Request<EraseConversationRequest>,
) -> Result<Response<EraseConversationResponse>, Status> {
    let caller = Caller::of(request.metadata());
    let mut request = request.into_inner();
    let digest = digest(&request);
    let expected = request.expected_owner.take().map(|owner| {
        let owner: Result<Owner, _> = owner_from_proto(Some(owner));
        owner.map_err(|broken| Problem::from(broken.within("expected_owner")))
    });
    let asked = Asked {
        digest,
        action: Action::Erase {
            expected: expected.transpose()?,
            forks: fork_rule(request.forks).map_err(Problem::from)?,
        },
    };
    let intent = intent(writer, &caller, request.target.as_ref(), asked).await?;
    // Whatever becomes of the call: a decision that is cut off leaves its entry, which holds forks up.
    let erasing = erase(writer.clone(), intent).in_current_span();
    let erased = writer.removals.spawn_detached(erasing).await;
    let answer = erased.map_err(|_| Status::internal("an erasure ended without an outcome"))??;
    Ok(Response::new(answer))
}

async fn erase(writer: Writer, intent: Intent) -> Result<EraseConversationResponse, Problem> {
    let key = intent.key.clone();
    let result = carry_out(&writer, intent).await?;
    Ok(EraseConversationResponse {
        result: Some(result),
        pending_commits: writer.removals.after_tombstone(&key).await,
    })
}

fn fork_rule(rule: i32) -> Result<ForkRule, Violation> {
    match proto::ForkRule::try_from(rule) {
        Ok(proto::ForkRule::Unspecified | proto::ForkRule::Refuse) => Ok(ForkRule::Refuse),
        Ok(proto::ForkRule::Sever) => Ok(ForkRule::Sever),
        Err(_) => {
            let rule = "is no rule for forks: give FORK_RULE_REFUSE or FORK_RULE_SEVER";
            Err(Violation::new(ViolationReason::Malformed, rule).within("forks"))
        }
    }
}
