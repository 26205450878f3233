//! Start a generation.

use domain::event::RunStarted;
use domain::{Action, StartRun};
use prost::Message as _;
use tonic::{Request, Response, Status};
use wire::optional::label;
use wire::proto::run::v1::{StartRunRequest, StartRunResponse};
use wire::status::Problem;

use super::{carry_out, new_events, run_id};
use crate::Writer;
use crate::request::{Asked, Caller, digest, intent};

pub(super) async fn handle(
    writer: &Writer,
    request: Request<StartRunRequest>,
) -> Result<Response<StartRunResponse>, Status> {
    let caller = Caller::of(request.metadata());
    let mut request = request.into_inner();
    let digest = digest(&request);
    let target = request.target.take();
    let action = action(request).await?;
    let intent = intent(writer, &caller, target.as_ref(), Asked { digest, action }).await?;
    let result = carry_out(writer, intent).await?;
    Ok(Response::new(StartRunResponse {
        result: Some(result),
    }))
}

async fn action(request: StartRunRequest) -> Result<Action, Problem> {
    let bytes = request.encoded_len();
    let started = RunStarted {
        run: run_id(&request.run_id)?,
        model: label(request.model, "model")?,
        provider: label(request.provider, "provider")?,
    };
    let events = new_events(request.events, bytes).await?;
    Ok(Action::StartRun(Box::new(StartRun { started, events })))
}
