//! Finish a generation.

use domain::event::RunFinished;
use domain::{Action, FinishRun};
use prost::Message as _;
use tonic::{Request, Response, Status};
use wire::event::outcome_from_proto;
use wire::proto::run::v1::{FinishRunRequest, FinishRunResponse};
use wire::status::Problem;

use super::{carry_out, new_events, run_id};
use crate::Writer;
use crate::request::{Asked, Caller, digest, intent};

pub(super) async fn handle(
    writer: &Writer,
    request: Request<FinishRunRequest>,
) -> Result<Response<FinishRunResponse>, Status> {
    let caller = Caller::of(request.metadata());
    let mut request = request.into_inner();
    put_own_key(&mut request)?;
    let digest = digest(&request);
    let target = request.target.take();
    let action = action(request).await?;
    let intent = intent(writer, &caller, target.as_ref(), Asked { digest, action }).await?;
    let result = carry_out(writer, intent).await?;
    Ok(Response::new(FinishRunResponse {
        result: Some(result),
    }))
}

/// Whoever gives no key finishes the run under the run's own, and asks for the same as whoever gives that.
fn put_own_key(request: &mut FinishRunRequest) -> Result<(), Problem> {
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
