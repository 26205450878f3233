//! Starts a run.

use domain::event::RunStarted;
use domain::{Action, StartRun};
use prost::Message as _;
use tonic::Request;
use wire::optional::label;
use wire::proto::run::v1::StartRunRequest;
use wire::proto::write::v1::CommitResult;
use wire::status::Problem;

use super::{execute_on, new_events, run_id};
use crate::Writer;
use crate::request::split;

pub(super) async fn handle(
    writer: &Writer,
    request: Request<StartRunRequest>,
) -> Result<CommitResult, Problem> {
    let (caller, digest, mut request) = split(request);
    let target = request.target.take();
    let action = action(request).await?;
    execute_on(writer, &caller, target, digest, action).await
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
