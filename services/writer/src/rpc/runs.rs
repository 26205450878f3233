//! The run service.

mod append_parts;
mod lifecycle;
mod model_calls;

use domain::bounds::RUN_EVENTS_MAX;
use domain::event::RunStarted;
use domain::{NewEvent, RunId, Violation, ViolationReason};
use tonic::{Request, Response, Status};
use wire::optional::label;
use wire::proto::event::v1::Event;
use wire::proto::run::v1 as proto;
use wire::proto::run::v1::run_service_server::RunService;
use wire::proto::write::v1::NewRun;
use wire::status::Problem;

use super::append_events::converted;
use crate::Writer;

#[derive(Debug, Clone)]
pub(crate) struct RunRpc {
    writer: Writer,
}

impl RunRpc {
    pub(crate) fn new(writer: Writer) -> Self {
        Self { writer }
    }
}

rpcs! {
    RunService for RunRpc {}
    start_run(StartRunRequest) -> StartRunResponse { result } = lifecycle::start;
    append_parts(AppendPartsRequest) -> AppendPartsResponse { sequence } = append_parts::handle;
    stop_run(StopRunRequest) -> StopRunResponse { result } = lifecycle::stop;
    finish_run(FinishRunRequest) -> FinishRunResponse { result } = lifecycle::finish;
    log_model_call(LogModelCallRequest) -> LogModelCallResponse { is_kept } = model_calls::log;
    meter_model_call(MeterModelCallRequest) -> MeterModelCallResponse { is_counted } = model_calls::meter;
}

fn run_id(text: &str) -> Result<RunId, Violation> {
    let parsed = match text {
        "" => Err(Violation::new(ViolationReason::Missing, "is required")),
        _ => RunId::parse(text),
    };
    parsed.map_err(|violation| violation.within("run_id"))
}

/// A run to start.
pub(super) fn run_started(given: NewRun) -> Result<RunStarted, Violation> {
    Ok(RunStarted {
        run: run_id(&given.run_id)?,
        model: label(given.model, "model")?,
        provider: label(given.provider, "provider")?,
    })
}

/// The events at the start or end of a run, without their token counts.
fn new_events(events: Vec<Event>) -> Result<Vec<NewEvent>, Violation> {
    let count = events.len();
    if count > RUN_EVENTS_MAX {
        let rule = format!(
            "has {count} events, one commit has at most {RUN_EVENTS_MAX} besides the event of the run: append several commits"
        );
        let violation = Violation::new(ViolationReason::TooManyEvents, rule);
        return Err(violation.within("events"));
    }
    converted(events)
}

#[cfg(test)]
mod tests {
    use wire::proto::event::v1::{SystemNoted, event::Fact};

    use super::*;

    #[test]
    fn a_run_has_an_id() {
        assert_eq!(run_id("").unwrap_err().reason, ViolationReason::Missing);
        assert_eq!(run_id("x").unwrap_err().field, "run_id");
        let id = uuid::Uuid::from_u128(7);
        assert_eq!(run_id(&id.to_string()), Ok(RunId(id)));
    }

    #[test]
    fn the_events_of_a_run_are_bounded() {
        let noted = SystemNoted { text: "note".to_owned(), ..SystemNoted::default() };
        let note = Event { fact: Some(Fact::SystemNoted(noted)), ..Event::default() };
        // A commit has at most 500 events.
        assert_eq!(new_events(vec![note.clone(); 499]).unwrap().len(), 499);
        let too_many = new_events(vec![note; 500]).unwrap_err();
        assert_eq!(too_many.field, "events");
    }
}
