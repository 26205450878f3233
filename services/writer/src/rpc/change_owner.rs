//! Make a conversation someone else's.

use domain::{Action, Owner};
use tonic::{Request, Response, Status};
use wire::conversation::owner_from_proto;
use wire::proto::write::v1::{ChangeOwnerRequest, ChangeOwnerResponse};
use wire::status::Problem;

use super::carry_out;
use crate::Writer;
use crate::request::{Asked, Caller, digest, intent};

pub(super) async fn handle(
    writer: &Writer,
    request: Request<ChangeOwnerRequest>,
) -> Result<Response<ChangeOwnerResponse>, Status> {
    let caller = Caller::of(request.metadata());
    let mut request = request.into_inner();
    let digest = digest(&request);
    let target = request.target.take();
    let action = action(request)?;
    let intent = intent(writer, &caller, target.as_ref(), Asked { digest, action }).await?;
    let result = carry_out(writer, intent).await?;
    Ok(Response::new(ChangeOwnerResponse {
        result: Some(result),
    }))
}

fn action(request: ChangeOwnerRequest) -> Result<Action, Problem> {
    let expected = request.expected_owner.map(|owner| {
        let owner: Result<Owner, _> = owner_from_proto(Some(owner));
        owner.map_err(|broken| broken.within("expected_owner"))
    });
    Ok(Action::ChangeOwner {
        owner: owner_from_proto(request.owner).map_err(|broken| broken.within("owner"))?,
        expected: expected.transpose()?,
    })
}
