//! Erase a conversation for good: answered once the tombstone is durable; what is before it is removed in the background.

use domain::{Action, Owner};
use tonic::{Request, Response, Status};
use wire::conversation::owner_from_proto;
use wire::proto::write::v1::{EraseConversationRequest, EraseConversationResponse};
use wire::status::Problem;

use super::carry_out;
use crate::Writer;
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
    let expected = expected.transpose()?;
    let asked = Asked {
        digest,
        action: Action::Erase { expected },
    };
    let intent = intent(writer, &caller, request.target.as_ref(), asked).await?;
    let key = intent.key.clone();
    let result = carry_out(writer, intent).await?;
    Ok(Response::new(EraseConversationResponse {
        result: Some(result),
        pending_commits: writer.removals.after_tombstone(&key).await,
    }))
}
