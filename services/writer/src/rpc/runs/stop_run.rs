//! Requests that a run stops.

use domain::Action;
use tonic::Request;
use wire::proto::run::v1::StopRunRequest;
use wire::proto::write::v1::CommitResult;
use wire::status::Problem;

use super::{execute_on, run_id};
use crate::Writer;
use crate::request::split;

pub(super) async fn handle(
    writer: &Writer,
    request: Request<StopRunRequest>,
) -> Result<CommitResult, Problem> {
    let (caller, digest, request) = split(request);
    let action = Action::StopRun(run_id(&request.run_id)?);
    execute_on(writer, &caller, request.target, digest, action).await
}
