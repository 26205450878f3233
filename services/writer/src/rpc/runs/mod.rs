//! The run service, one file an rpc.

mod append_parts;
mod finish_run;
mod log_model_call;
mod meter_model_call;
mod start_run;
mod stop_run;

use domain::bounds::RUN_EVENTS_MAX;
use domain::{NewEvent, RunId, Violation, ViolationReason};
use tonic::{Request, Response, Status};
use wire::proto::event::v1::Event;
use wire::proto::run::v1 as proto;
use wire::proto::run::v1::run_service_server::RunService;
use wire::status::Problem;

use super::append_events::converted;
use super::carry_out;
use crate::Writer;
use crate::weigh::weigh;

/// The run service over gRPC.
#[derive(Debug, Clone)]
pub struct RunRpc {
    writer: Writer,
}

impl RunRpc {
    /// The service of a writer.
    #[must_use]
    pub fn new(writer: Writer) -> Self {
        Self { writer }
    }
}

#[tonic::async_trait]
impl RunService for RunRpc {
    async fn start_run(
        &self,
        request: Request<proto::StartRunRequest>,
    ) -> Result<Response<proto::StartRunResponse>, Status> {
        start_run::handle(&self.writer, request).await
    }

    async fn append_parts(
        &self,
        request: Request<proto::AppendPartsRequest>,
    ) -> Result<Response<proto::AppendPartsResponse>, Status> {
        append_parts::handle(&self.writer, request).await
    }

    async fn stop_run(
        &self,
        request: Request<proto::StopRunRequest>,
    ) -> Result<Response<proto::StopRunResponse>, Status> {
        stop_run::handle(&self.writer, request).await
    }

    async fn finish_run(
        &self,
        request: Request<proto::FinishRunRequest>,
    ) -> Result<Response<proto::FinishRunResponse>, Status> {
        finish_run::handle(&self.writer, request).await
    }

    async fn log_model_call(
        &self,
        request: Request<proto::LogModelCallRequest>,
    ) -> Result<Response<proto::LogModelCallResponse>, Status> {
        log_model_call::handle(&self.writer, request).await
    }

    async fn meter_model_call(
        &self,
        request: Request<proto::MeterModelCallRequest>,
    ) -> Result<Response<proto::MeterModelCallResponse>, Status> {
        meter_model_call::handle(&self.writer, request).await
    }
}

fn run_id(text: &str) -> Result<RunId, Violation> {
    let parsed = match text {
        "" => Err(Violation::new(ViolationReason::Missing, "is required")),
        _ => RunId::parse(text),
    };
    parsed.map_err(|violation| violation.within("run_id"))
}

/// The events of a run's start or end, weighed; none or more. `bytes`: the size of their request.
async fn new_events(events: Vec<Event>, bytes: usize) -> Result<Vec<NewEvent>, Problem> {
    let count = events.len();
    if count > RUN_EVENTS_MAX {
        let rule = format!(
            "has {count} events, at most {RUN_EVENTS_MAX} make one commit with the run's own: append in several"
        );
        let broken = Violation::new(ViolationReason::TooManyEvents, rule);
        return Err(broken.within("events").into());
    }
    weigh(converted(events)?, bytes).await
}
