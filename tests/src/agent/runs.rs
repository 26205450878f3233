//! The runs of an agent's caller.

use std::time::SystemTime;

use tonic::Status;
use uuid::Uuid;
use wire::proto::event::v1 as event;
use wire::proto::run::v1 as run;

use super::commands::of;
use super::{Agent, Outcome};

impl Agent {
    /// A request to start a run.
    #[must_use]
    pub fn start_request(&self, conversation: &str, run_id: &str, events: Vec<event::Event>) -> run::StartRunRequest {
        run::StartRunRequest {
            target: Some(self.target(conversation)),
            run_id: run_id.to_owned(),
            events,
            ..run::StartRunRequest::default()
        }
    }

    /// A request to publish parts after those at `previous_sequence`.
    #[must_use]
    pub fn parts_request(
        &self,
        conversation: &str,
        run_id: &str,
        previous_sequence: u64,
        parts: Vec<run::Part>,
    ) -> run::AppendPartsRequest {
        run::AppendPartsRequest {
            agent_id: self.id.clone(),
            conversation_id: conversation.to_owned(),
            run_id: run_id.to_owned(),
            previous_sequence,
            parts,
        }
    }

    /// A request to stop a run.
    #[must_use]
    pub fn stop_request(&self, conversation: &str, run_id: &str) -> run::StopRunRequest {
        run::StopRunRequest { target: Some(self.target(conversation)), run_id: run_id.to_owned() }
    }

    /// A request to finish a run that was completed.
    #[must_use]
    pub fn finish_request(&self, conversation: &str, run_id: &str, events: Vec<event::Event>) -> run::FinishRunRequest {
        run::FinishRunRequest {
            target: Some(self.target(conversation)),
            run_id: run_id.to_owned(),
            outcome: event::RunOutcome::Completed.into(),
            events,
        }
    }

    /// A request to log a call of a model server in a run.
    #[must_use]
    pub fn log_request(&self, conversation: &str, run_id: &str) -> run::LogModelCallRequest {
        run::LogModelCallRequest {
            agent_id: self.id.clone(),
            conversation_id: conversation.to_owned(),
            call: Some(run::ModelCall {
                log_id: Uuid::now_v7().to_string(),
                run_id: run_id.to_owned(),
                purpose: run::ModelCallPurpose::Answer.into(),
                attempt: 1,
                model_server: "local".to_owned(),
                model: "m".to_owned(),
                started_at: Some(SystemTime::now().into()),
                outcome: "finished".to_owned(),
                ..run::ModelCall::default()
            }),
        }
    }

    /// Logs a call of a model server; returns whether the agent's settings enable that.
    ///
    /// # Errors
    /// The error of the service.
    pub async fn try_log(&self, request: run::LogModelCallRequest) -> Result<bool, Status> {
        let answer = self.caller.runs().log_model_call(request).await?;
        Ok(answer.into_inner().is_kept)
    }

    /// Meters the tokens of a model call; returns whether the call was counted.
    ///
    /// # Errors
    /// The error of the service.
    pub async fn try_meter(&self, request: run::MeterModelCallRequest) -> Result<bool, Status> {
        let answer = self.caller.runs().meter_model_call(request).await?;
        Ok(answer.into_inner().is_counted)
    }

    /// Starts a run.
    ///
    /// # Errors
    /// The error of the service.
    pub async fn try_start(&self, request: run::StartRunRequest) -> Outcome {
        let answer = self.caller.runs().start_run(request).await?;
        Ok(of(answer.into_inner().result))
    }

    /// Publishes parts; returns the sequence of the last one.
    ///
    /// # Errors
    /// The error of the service.
    pub async fn try_parts(&self, request: run::AppendPartsRequest) -> Result<u64, Status> {
        let answer = self.caller.runs().append_parts(request).await?;
        Ok(answer.into_inner().sequence)
    }

    /// Asks a run to stop.
    ///
    /// # Errors
    /// The error of the service.
    pub async fn try_stop(&self, request: run::StopRunRequest) -> Outcome {
        let answer = self.caller.runs().stop_run(request).await?;
        Ok(of(answer.into_inner().result))
    }

    /// Finishes a run.
    ///
    /// # Errors
    /// The error of the service.
    pub async fn try_finish(&self, request: run::FinishRunRequest) -> Outcome {
        let answer = self.caller.runs().finish_run(request).await?;
        Ok(of(answer.into_inner().result))
    }
}
