//! Which calls the writers carry out once, however often they are sent.

use bytes::Bytes;
use wire::proto::run::v1::run_service_server::SERVICE_NAME as RUN_SERVICE;
use wire::proto::write::v1::write_service_server::SERVICE_NAME as WRITE_SERVICE;
use wire::proto::write::v1::{ArchiveConversationRequest, CreateConversationRequest};

use super::attempts::Repeat;

/// The compression flag and the length before the message of a unary call.
const PREFIX_BYTES: usize = 5;

/// Whether a unary call may be sent again.
pub(super) fn repeat_of(path: &str, body: &Bytes) -> Repeat {
    let Some((service, method)) = path.strip_prefix('/').and_then(|path| path.rsplit_once('/')) else {
        return Repeat::Never;
    };
    let has_key = match (service, method) {
        (WRITE_SERVICE, "CreateConversation") => {
            message_of(body).is_some_and(|request: CreateConversationRequest| !request.idempotency_key.is_empty())
        }
        (WRITE_SERVICE, _) | (RUN_SERVICE, "StartRun" | "StopRun") => has_key_in_target(body),
        // Their ids are in the request: of the run, of the parts before, of the log, of the model call.
        (RUN_SERVICE, "FinishRun" | "AppendParts" | "LogModelCall" | "MeterModelCall") => true,
        _ => false,
    };
    match method {
        _ if !has_key => Repeat::Never,
        "EraseConversation" => Repeat::AfterFailure,
        _ => Repeat::WhileSilent,
    }
}

/// Commands with a target have it as their first field.
fn has_key_in_target(body: &Bytes) -> bool {
    let request: Option<ArchiveConversationRequest> = message_of(body);
    let target = request.and_then(|request| request.target);
    target.is_some_and(|target| !target.idempotency_key.is_empty())
}

/// The message of an uncompressed unary call; unknown fields are skipped.
fn message_of<T: prost::Message + Default>(body: &Bytes) -> Option<T> {
    T::decode(body.get(PREFIX_BYTES..)?).ok()
}

#[cfg(test)]
mod tests {
    use wire::proto::run::v1::{AppendPartsRequest, FinishRunRequest, StartRunRequest};
    use wire::proto::write::v1::{AppendEventsRequest, CommandTarget};

    use super::*;

    fn body_of(message: &impl prost::Message) -> Bytes {
        [vec![0; PREFIX_BYTES], message.encode_to_vec()].concat().into()
    }

    #[track_caller]
    fn check(service: &str, method: &str, body: &Bytes, expected: Repeat) {
        assert_eq!(repeat_of(&format!("/{service}/{method}"), body), expected, "{service}/{method}");
    }

    #[test]
    fn commands_with_a_key_are_repeatable() {
        for (key, expected) in [("k", Repeat::WhileSilent), ("", Repeat::Never)] {
            let target = Some(CommandTarget { idempotency_key: key.to_owned(), ..CommandTarget::default() });
            let append = body_of(&AppendEventsRequest { target: target.clone(), ..AppendEventsRequest::default() });
            check(WRITE_SERVICE, "AppendEvents", &append, expected);
            check("hansard.operate.v1.RegistryService", "CreateTenant", &append, Repeat::Never);
            check(
                RUN_SERVICE,
                "StartRun",
                &body_of(&StartRunRequest { target, ..StartRunRequest::default() }),
                expected,
            );
            let erasure = if expected == Repeat::Never { expected } else { Repeat::AfterFailure };
            check(WRITE_SERVICE, "EraseConversation", &append, erasure);
            let create = CreateConversationRequest {
                agent_id: "a".to_owned(),
                idempotency_key: key.to_owned(),
                ..CreateConversationRequest::default()
            };
            check(WRITE_SERVICE, "CreateConversation", &body_of(&create), expected);
        }
        check(WRITE_SERVICE, "AppendEvents", &Bytes::new(), Repeat::Never);
        check(WRITE_SERVICE, "AppendEvents", &body_of(&AppendEventsRequest::default()), Repeat::Never);
        check(RUN_SERVICE, "FinishRun", &body_of(&FinishRunRequest::default()), Repeat::WhileSilent);
        check(RUN_SERVICE, "AppendParts", &body_of(&AppendPartsRequest::default()), Repeat::WhileSilent);
    }
}
