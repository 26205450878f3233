//! Appends events as one commit.

use domain::bounds::EVENTS_PER_COMMIT_MAX;
use domain::{Action, NewEvent, Violation, ViolationReason};
use prost::Message as _;
use wire::proto::write::v1::{AppendEventsRequest, CommitResult};

use super::{Problem, Request, Writer, commit_in_turn, optional_owner};
use crate::attempt::Attempt;
use crate::request::{Caller, digest, intent};
use crate::token_count::count_tokens;
use crate::{Intent, document_rules};

pub(super) async fn handle(writer: &Writer, request: Request<AppendEventsRequest>) -> Result<CommitResult, Problem> {
    let caller = Caller::from_metadata(request.metadata());
    let intent = intent_of(writer, &caller, request.into_inner()).await?;
    commit_in_turn(writer, intent).await
}

/// The intent of a request, unary or from a stream.
pub(super) async fn intent_of(
    writer: &Writer,
    caller: &Caller,
    request: AppendEventsRequest,
) -> Result<Intent, Problem> {
    let attempt = attempt(&request)?;
    let digest = attempt.map_or_else(|| digest(&request), |attempt| attempt.digest);
    let bytes = request.encoded_len();
    let action =
        Action::Append { events: new_events(request.events)?, expected: optional_owner(request.expected_owner)? };
    let mut intent = intent(writer, caller, request.target.as_ref(), digest, action).await?;
    intent.attempt = attempt.map(|attempt| Attempt { arrived_at: writer.heads.cached_version(&intent.key), ..attempt });
    if let Action::Append { events, .. } = &intent.command.action {
        document_rules::check(&intent.key.conversation, events).map_err(|violation| violation.within("events"))?;
    }
    count_tokens(writer, &mut intent, bytes).await?;
    Ok(intent)
}

fn attempt(request: &AppendEventsRequest) -> Result<Option<Attempt>, Violation> {
    let attempt = request
        .attempt
        .as_ref()
        .map(Attempt::from_proto)
        .transpose()
        .map_err(|violation| violation.within("attempt"))?;
    let target = request.target.as_ref();
    if attempt.is_some() && target.is_some_and(|target| !target.idempotency_key.is_empty()) {
        let rule = "is not allowed with target.idempotency_key: send one of them";
        return Err(Violation::new(ViolationReason::Malformed, rule).within("attempt"));
    }
    Ok(attempt)
}

fn new_events(events: Vec<wire::proto::event::v1::Event>) -> Result<Vec<NewEvent>, Violation> {
    let (reason, rule) = match events.len() {
        0 => (ViolationReason::NoEvents, format!("is empty: send 1 to {EVENTS_PER_COMMIT_MAX} events")),
        1..=EVENTS_PER_COMMIT_MAX => return converted(events),
        count => (
            ViolationReason::TooManyEvents,
            format!("has {count} events, one commit has at most {EVENTS_PER_COMMIT_MAX}: append several commits"),
        ),
    };
    Err(Violation::new(reason, rule).within("events"))
}

/// Converts events, without their token counts.
pub(super) fn converted(events: Vec<wire::proto::event::v1::Event>) -> Result<Vec<NewEvent>, Violation> {
    let convert = |(index, event)| {
        wire::event::new_event_from_proto(event).map_err(|violation| violation.at(index).within("events"))
    };
    events.into_iter().enumerate().map(convert).collect()
}

#[cfg(test)]
mod tests {
    use wire::proto::event::v1::{Event, SystemNoted, event::Fact};
    use wire::proto::write::v1 as proto;

    use super::*;

    fn note() -> Event {
        let noted = SystemNoted { text: "note".to_owned(), ..SystemNoted::default() };
        Event { fact: Some(Fact::SystemNoted(noted)), ..Event::default() }
    }

    #[test]
    fn a_commit_has_1_to_500_events() {
        let check = |count: usize, expected: Option<ViolationReason>| {
            let seen = new_events(vec![note(); count]);
            assert_eq!(seen.as_ref().err().map(|violation| violation.reason), expected, "{count}");
            assert!(seen.is_ok_and(|events| events.len() == count) || expected.is_some());
        };
        check(0, Some(ViolationReason::NoEvents));
        check(1, None);
        check(500, None);
        check(501, Some(ViolationReason::TooManyEvents));
        let violation = new_events(vec![note(), Event::default()]).unwrap_err();
        assert!(violation.field.relative_to("events[1]").is_some(), "{violation:?}");
    }

    #[test]
    fn a_request_has_a_key_or_an_attempt() {
        let check = |key: Option<&str>, hash_bytes: Option<usize>, expected: Result<bool, &str>| {
            let target =
                |key: &str| proto::CommandTarget { idempotency_key: key.to_owned(), ..proto::CommandTarget::default() };
            let request = AppendEventsRequest {
                target: key.map(target),
                attempt: hash_bytes
                    .map(|bytes| proto::Attempt { request_hash: vec![0; bytes].into(), is_retry: false }),
                ..AppendEventsRequest::default()
            };
            let seen = attempt(&request).map(|attempt| attempt.is_some()).map_err(|violation| violation.field);
            assert_eq!(seen, expected.map_err(domain::FieldPath::from), "{key:?} {hash_bytes:?}");
        };
        check(None, None, Ok(false));
        check(Some("key"), None, Ok(false));
        check(None, Some(32), Ok(true));
        check(Some(""), Some(32), Ok(true));
        check(Some("key"), Some(32), Err("attempt"));
        check(Some(""), Some(31), Err("attempt.request_hash"));
    }
}
