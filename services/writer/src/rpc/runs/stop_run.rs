//! Ask a generation to stop.

use domain::Action;
use tonic::{Request, Response, Status};
use wire::proto::run::v1::{StopRunRequest, StopRunResponse};
use wire::status::Problem;

use super::{carry_out, run_id};
use crate::Writer;
use crate::request::{Asked, Caller, digest, intent};

pub(super) async fn handle(
    writer: &Writer,
    request: Request<StopRunRequest>,
) -> Result<Response<StopRunResponse>, Status> {
    let caller = Caller::of(request.metadata());
    let request = request.into_inner();
    let asked = Asked {
        digest: digest(&request),
        action: Action::StopRun(run_id(&request.run_id).map_err(Problem::from)?),
    };
    let intent = intent(writer, &caller, request.target.as_ref(), asked).await?;
    let result = carry_out(writer, intent).await?;
    Ok(Response::new(StopRunResponse {
        result: Some(result),
    }))
}
