//! Starts, stops and finishes a run.

use domain::event::RunFinished;
use domain::{Action, FinishRun, StartRun, Violation};
use prost::Message as _;
use wire::event::outcome_from_proto;
use wire::proto::run::v1::{FinishRunRequest, StartRunRequest, StopRunRequest};
use wire::proto::write::v1::{CommitResult, NewRun};

use super::super::execute_on;
use super::{Problem, Request, Writer, new_events, run_id, run_started};
use crate::Intent;
use crate::commit::commit_in_turn;
use crate::request::{intent, split};
use crate::token_count::count_tokens;

pub(super) async fn start(writer: &Writer, request: Request<StartRunRequest>) -> Result<CommitResult, Problem> {
    let (caller, digest, mut request) = split(request);
    let target = request.target.take();
    let bytes = request.encoded_len();
    let intent = intent(writer, &caller, target.as_ref(), digest, start_action(request)?).await?;
    execute_counted(writer, intent, bytes).await
}

fn start_action(request: StartRunRequest) -> Result<Action, Violation> {
    let started = run_started(NewRun { run_id: request.run_id, model: request.model, provider: request.provider })?;
    let events = new_events(request.events)?;
    Ok(Action::StartRun(Box::new(StartRun { started, events })))
}

pub(super) async fn stop(writer: &Writer, request: Request<StopRunRequest>) -> Result<CommitResult, Problem> {
    let (caller, digest, request) = split(request);
    let action = Action::StopRun(run_id(&request.run_id)?);
    execute_on(writer, &caller, request.target, digest, action).await
}

pub(super) async fn finish(writer: &Writer, mut request: Request<FinishRunRequest>) -> Result<CommitResult, Problem> {
    set_default_key(request.get_mut())?;
    let (caller, digest, mut request) = split(request);
    let target = request.target.take();
    let bytes = request.encoded_len();
    let intent = intent(writer, &caller, target.as_ref(), digest, finish_action(request)?).await?;
    execute_counted(writer, intent, bytes).await
}

/// Executes a command whose request has `bytes` bytes, after its tokens are counted.
async fn execute_counted(writer: &Writer, mut intent: Intent, bytes: usize) -> Result<CommitResult, Problem> {
    count_tokens(writer, &mut intent, bytes).await?;
    commit_in_turn(writer, intent).await
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

fn finish_action(request: FinishRunRequest) -> Result<Action, Violation> {
    let finished = RunFinished {
        run: run_id(&request.run_id)?,
        outcome: outcome_from_proto(request.outcome()).map_err(|violation| violation.within("outcome"))?,
    };
    let events = new_events(request.events)?;
    Ok(Action::FinishRun(Box::new(FinishRun { finished, events })))
}

#[cfg(test)]
mod tests {
    use domain::RunId;
    use uuid::Uuid;
    use wire::proto::write::v1::CommandTarget;

    use super::*;

    #[test]
    fn a_run_is_finished_under_its_own_key_by_default() {
        let run = RunId(Uuid::from_u128(7));
        let check = |key: &str, expected: &str| {
            let target = CommandTarget { idempotency_key: key.to_owned(), ..CommandTarget::default() };
            let mut request =
                FinishRunRequest { run_id: run.to_string(), target: Some(target), ..FinishRunRequest::default() };
            set_default_key(&mut request).unwrap();
            assert_eq!(request.target.unwrap().idempotency_key, expected);
        };
        check("key", "key");
        check("", &run.finish_commit().to_string());
        assert!(set_default_key(&mut FinishRunRequest::default()).is_err());
    }
}
