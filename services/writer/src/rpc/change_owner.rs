//! Changes the owner of a conversation.

use domain::{Action, Violation};
use tonic::Request;
use wire::conversation::owner_from_proto;
use wire::proto::write::v1::{ChangeOwnerRequest, CommitResult};
use wire::status::Problem;

use super::{execute_on, optional_owner};
use crate::Writer;
use crate::request::split;

pub(super) async fn handle(
    writer: &Writer,
    request: Request<ChangeOwnerRequest>,
) -> Result<CommitResult, Problem> {
    let (caller, digest, mut request) = split(request);
    let target = request.target.take();
    let action = action(request)?;
    execute_on(writer, &caller, target, digest, action).await
}

fn action(request: ChangeOwnerRequest) -> Result<Action, Violation> {
    Ok(Action::ChangeOwner {
        expected: optional_owner(request.expected_owner)?,
        owner: owner_from_proto(request.owner).map_err(|violation| violation.within("owner"))?,
    })
}
