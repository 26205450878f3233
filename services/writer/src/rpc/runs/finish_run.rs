//! Finishes a run.

use domain::event::RunFinished;
use domain::{Action, FinishRun};
use prost::Message as _;
use tonic::Request;
use wire::event::outcome_from_proto;
use wire::proto::run::v1::FinishRunRequest;
use wire::proto::write::v1::CommitResult;
use wire::status::Problem;

use super::{execute_on, new_events, run_id};
use crate::Writer;
use crate::request::split;

pub(super) async fn handle(
    writer: &Writer,
    mut request: Request<FinishRunRequest>,
) -> Result<CommitResult, Problem> {
    set_default_key(request.get_mut())?;
    let (caller, digest, mut request) = split(request);
    let target = request.target.take();
    let action = action(request).await?;
    execute_on(writer, &caller, target, digest, action).await
}

/// Without an idempotency key, the key of the run is used. The request is then equal to one with this key.
fn set_default_key(request: &mut FinishRunRequest) -> Result<(), Problem> {
    let run = run_id(&request.run_id)?;
    if let Some(target) = &mut request.target
        && target.idempotency_key.is_empty()
    {
        target.idempotency_key = run.finish_commit().to_string();
    }
    Ok(())
}

async fn action(request: FinishRunRequest) -> Result<Action, Problem> {
    let bytes = request.encoded_len();
    let finished = RunFinished {
        run: run_id(&request.run_id)?,
        outcome: outcome_from_proto(request.outcome())
            .map_err(|violation| violation.within("outcome"))?,
    };
    let events = new_events(request.events, bytes).await?;
    Ok(Action::FinishRun(Box::new(FinishRun { finished, events })))
}
