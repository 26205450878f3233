//! Append events as one commit.

use domain::bounds::EVENTS_PER_COMMIT_MAX;
use domain::{Action, NewEvent, Violation, ViolationReason};
use prost::Message as _;
use tonic::{Request, Response, Status};
use wire::proto::write::v1::{AppendEventsRequest, AppendEventsResponse};
use wire::status::Problem;

use super::carry_out;
use crate::Writer;
use crate::intent::Intent;
use crate::request::{Asked, Caller, digest, intent};
use crate::weigh::weigh;

pub(super) async fn handle(
    writer: &Writer,
    request: Request<AppendEventsRequest>,
) -> Result<Response<AppendEventsResponse>, Status> {
    let caller = Caller::of(request.metadata());
    let intent = intent_of(writer, &caller, request.into_inner()).await?;
    let result = carry_out(writer, intent).await?;
    Ok(Response::new(AppendEventsResponse {
        result: Some(result),
    }))
}

/// The intent of a request, unary or one of a stream.
pub(super) async fn intent_of(
    writer: &Writer,
    caller: &Caller,
    request: AppendEventsRequest,
) -> Result<Intent, Problem> {
    let digest = digest(&request);
    let bytes = request.encoded_len();
    let action = Action::Append(new_events(request.events)?);
    let asked = Asked { digest, action };
    let mut intent = intent(writer, caller, request.target.as_ref(), asked).await?;
    if let Action::Append(events) = &mut intent.command.action {
        *events = weigh(std::mem::take(events), bytes).await?;
    }
    Ok(intent)
}

fn new_events(events: Vec<wire::proto::event::v1::Event>) -> Result<Vec<NewEvent>, Violation> {
    let broken = |reason, description| Err(Violation::new(reason, description).within("events"));
    match events.len() {
        0 => broken(
            ViolationReason::NoEvents,
            "is empty: give 1 to 500 events".to_owned(),
        ),
        1..=EVENTS_PER_COMMIT_MAX => converted(events),
        count => broken(
            ViolationReason::TooManyEvents,
            format!(
                "has {count} events, at most {EVENTS_PER_COMMIT_MAX} make one commit: append in several"
            ),
        ),
    }
}

/// Events as the domain keeps them, not weighed yet.
pub(super) fn converted(
    events: Vec<wire::proto::event::v1::Event>,
) -> Result<Vec<NewEvent>, Violation> {
    let convert = |(index, event)| {
        wire::event::new_event_from_proto(event)
            .map_err(|violation| violation.at(index).within("events"))
    };
    events.into_iter().enumerate().map(convert).collect()
}
