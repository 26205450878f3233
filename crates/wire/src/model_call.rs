//! Conversions of calls of model servers, and their encoding in the stream of the provider log.

use bytes::Bytes;
use domain::bounds::{LOG_DAYS_MAX, LOGGED_BODY_BYTES_MAX};
use domain::violation::check_length;
use domain::{
    AgentId, CallPurpose, Label, LogId, LoggedBody, LoggedCall, ModelCall, ModelServerId, RunId, Violation,
    ViolationReason,
};
use prost::Message as _;

use crate::commit::CorruptCommit;
use crate::event::{usage_from_proto, usage_to_proto};
use crate::optional;
use crate::proto::run::v1 as proto;

/// The status codes of HTTP.
const HTTP_STATUSES: std::ops::RangeInclusive<u16> = 100..=599;

/// A call as protobuf.
#[must_use]
pub fn call_to_proto(call: &ModelCall) -> proto::ModelCall {
    let purpose = match call.purpose {
        CallPurpose::Answer => proto::ModelCallPurpose::Answer,
        CallPurpose::Summary => proto::ModelCallPurpose::Summary,
        CallPurpose::Title => proto::ModelCallPurpose::Title,
    };
    proto::ModelCall {
        log_id: call.id.to_string(),
        run_id: call.run.to_string(),
        purpose: purpose.into(),
        attempt: call.attempt,
        model_server: call.server.as_str().to_owned(),
        model: call.model.as_str().to_owned(),
        started_at: Some(crate::time::to_proto(call.started_at)),
        first_piece_ms: call.first_piece_ms,
        took_ms: call.took_ms,
        http_status: call.http_status.map(u32::from),
        outcome: call.outcome.as_str().to_owned(),
        finish_reason: optional::label_text(call.finish_reason.as_ref()),
        usage: call.usage.as_ref().map(usage_to_proto),
        request_bytes: call.request_bytes,
        reply_bytes: call.reply_bytes,
        request: call.request.as_ref().map(body_to_proto),
        reply: call.reply.as_ref().map(body_to_proto),
    }
}

/// A call as the domain type.
///
/// # Errors
/// The first field that breaks a rule, by its path in the call.
pub fn call_from_proto(call: proto::ModelCall) -> Result<ModelCall, Violation> {
    let within = |field: &'static str| move |violation: Violation| violation.within(field);
    let purpose = purpose(call.purpose()).map_err(within("purpose"))?;
    if call.attempt == 0 {
        return Err(missing("attempt"));
    }
    let started_at = call.started_at.ok_or_else(|| missing("started_at"))?;
    Ok(ModelCall {
        id: LogId::parse(&call.log_id).map_err(within("log_id"))?,
        run: RunId::parse(&call.run_id).map_err(within("run_id"))?,
        purpose,
        attempt: call.attempt,
        server: ModelServerId::parse(call.model_server).map_err(within("model_server"))?,
        model: Label::parse(call.model).map_err(within("model"))?,
        started_at: crate::time::from_proto(started_at).map_err(within("started_at"))?,
        first_piece_ms: call.first_piece_ms,
        took_ms: call.took_ms,
        http_status: call.http_status.map(http_status).transpose()?,
        outcome: Label::parse(call.outcome).map_err(within("outcome"))?,
        finish_reason: optional::label(call.finish_reason, "finish_reason")?,
        usage: call.usage.map(usage_from_proto),
        request_bytes: call.request_bytes,
        reply_bytes: call.reply_bytes,
        request: call.request.map(body).transpose().map_err(within("request"))?,
        reply: call.reply.map(body).transpose().map_err(within("reply"))?,
    })
}

/// Encodes a call for its stream.
#[must_use]
pub fn encode_logged(logged: &LoggedCall) -> Bytes {
    let stored = proto::StoredModelCall {
        agent_id: logged.agent.as_str().to_owned(),
        days: logged.days,
        call: Some(call_to_proto(&logged.call)),
    };
    stored.encode_to_vec().into()
}

/// Decodes a call of its stream.
///
/// # Errors
/// [`CorruptCommit`].
pub fn decode_logged(bytes: Bytes) -> Result<LoggedCall, CorruptCommit> {
    let stored = proto::StoredModelCall::decode(bytes).map_err(|_| CorruptCommit::Body)?;
    let field = |violation: Violation| CorruptCommit::Field(violation.field);
    let days = stored.days;
    if !(1..=LOG_DAYS_MAX).contains(&days) {
        return Err(CorruptCommit::Field("days".into()));
    }
    let agent = AgentId::parse(stored.agent_id).map_err(|violation| violation.within("agent_id"));
    let call = stored.call.ok_or_else(|| missing("call")).map_err(field)?;
    Ok(LoggedCall { agent: agent.map_err(field)?, days, call: call_from_proto(call).map_err(field)? })
}

fn purpose(given: proto::ModelCallPurpose) -> Result<CallPurpose, Violation> {
    match given {
        proto::ModelCallPurpose::Answer => Ok(CallPurpose::Answer),
        proto::ModelCallPurpose::Summary => Ok(CallPurpose::Summary),
        proto::ModelCallPurpose::Title => Ok(CallPurpose::Title),
        proto::ModelCallPurpose::Unspecified => Err(Violation::new(ViolationReason::Missing, "is required")),
    }
}

fn http_status(given: u32) -> Result<u16, Violation> {
    let status = u16::try_from(given).ok().filter(|status| HTTP_STATUSES.contains(status));
    status.ok_or_else(|| {
        let rule = format!("is {given}, 100 to 599 are allowed");
        Violation::new(ViolationReason::OutOfRange, rule).within("http_status")
    })
}

fn body_to_proto(body: &LoggedBody) -> proto::LoggedBody {
    proto::LoggedBody { text: body.text.clone(), is_cut: body.is_cut }
}

fn body(given: proto::LoggedBody) -> Result<LoggedBody, Violation> {
    check_length(given.text.len(), LOGGED_BODY_BYTES_MAX).map_err(|violation| violation.within("text"))?;
    Ok(LoggedBody { text: given.text, is_cut: given.is_cut })
}

fn missing(field: &str) -> Violation {
    Violation::new(ViolationReason::Missing, "is required").within(field)
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;
    use domain::event::Usage;
    use uuid::Uuid;

    use super::*;

    fn call() -> ModelCall {
        ModelCall {
            id: LogId(Uuid::from_u128(1)),
            run: RunId(Uuid::from_u128(2)),
            purpose: CallPurpose::Summary,
            attempt: 2,
            server: ModelServerId::parse("local").unwrap(),
            model: Label::parse("m/1").unwrap(),
            started_at: Timestamp(1_700_000_000_123_456_789),
            first_piece_ms: Some(0),
            took_ms: 12,
            http_status: Some(200),
            outcome: Label::parse("finished").unwrap(),
            finish_reason: Label::parse("stop").ok(),
            usage: Some(Usage { input_tokens: 1, output_tokens: 2, cached_tokens: 3, reasoning_tokens: 4 }),
            request_bytes: 5,
            reply_bytes: 6,
            request: Some(LoggedBody::of("{\"a\":\"\\u0000\"}".to_owned())),
            reply: Some(LoggedBody::of("a\0b".to_owned())),
        }
    }

    fn check(change: impl FnOnce(&mut proto::ModelCall), expected: &str) {
        let mut given = call_to_proto(&call());
        change(&mut given);
        let field = call_from_proto(given).err().map(|violation| violation.field);
        assert_eq!(field.unwrap_or_default(), expected);
    }

    #[test]
    fn calls_come_back_as_they_were() {
        for days in [1, LOG_DAYS_MAX] {
            let logged = LoggedCall { agent: AgentId::parse("a").unwrap(), days, call: call() };
            assert_eq!(decode_logged(encode_logged(&logged)), Ok(logged));
        }
        let bare = ModelCall {
            first_piece_ms: None,
            http_status: None,
            finish_reason: None,
            usage: None,
            request: None,
            reply: None,
            purpose: CallPurpose::Answer,
            ..call()
        };
        assert_eq!(call_from_proto(call_to_proto(&bare)), Ok(bare));
    }

    #[test]
    fn every_field_is_checked_at_its_edge() {
        check(|_| {}, "");
        check(|call| call.log_id = "x".to_owned(), "log_id");
        check(|call| call.run_id.clear(), "run_id");
        check(|call| call.purpose = 0, "purpose");
        check(|call| call.purpose = 9, "purpose");
        check(|call| call.attempt = 0, "attempt");
        check(|call| call.model_server = "a/b".to_owned(), "model_server");
        check(|call| call.model.clear(), "model");
        check(|call| call.started_at = None, "started_at");
        check(|call| call.outcome.clear(), "outcome");
        for (status, expected) in
            [(99, "http_status"), (100, ""), (599, ""), (600, "http_status"), (65_636, "http_status")]
        {
            check(|call| call.http_status = Some(status), expected);
        }
        let sized = |bytes: usize| proto::LoggedBody { text: "x".repeat(bytes), is_cut: false };
        check(|call| call.request = Some(sized(LOGGED_BODY_BYTES_MAX)), "");
        check(|call| call.request = Some(sized(LOGGED_BODY_BYTES_MAX + 1)), "request.text");
        check(|call| call.reply = Some(sized(LOGGED_BODY_BYTES_MAX + 1)), "reply.text");
    }

    #[test]
    fn what_is_no_call_is_told_by_its_field() {
        let check = |days: u32, agent: &str, call: Option<proto::ModelCall>, expected: &str| {
            let stored = proto::StoredModelCall { agent_id: agent.to_owned(), days, call };
            let corrupt = decode_logged(stored.encode_to_vec().into()).unwrap_err();
            assert_eq!(corrupt, CorruptCommit::Field(expected.into()));
        };
        let whole = || Some(call_to_proto(&call()));
        check(0, "a", whole(), "days");
        check(LOG_DAYS_MAX + 1, "a", whole(), "days");
        check(1, "", whole(), "agent_id");
        check(1, "a", None, "call");
        let garbage = decode_logged(Bytes::from_static(b"\xff"));
        assert_eq!(garbage, Err(CorruptCommit::Body));
    }
}
