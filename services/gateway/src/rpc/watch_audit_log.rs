//! Streams the entries of a tenant's audit log.

use domain::{ConversationId, TenantAccess, TenantId, Timestamp, Violation, ViolationReason};
use futures::StreamExt as _;
use futures::stream::BoxStream;
use registry::AccessError;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};
use tracing::Instrument as _;
use wire::audit::{AuditActor, AuditMonth};
use wire::proto::operate::v1 as proto;
use wire::status::{Problem, Reason};

use conversations::Gateway;
use conversations::audit::{AuditFilter, AuditPosition, Followed, Following, follow};
use conversations::problem::access_problem;
use conversations::request::{Call, out_of_range, parse_enum};

/// Maximum length of the name of an actor, in bytes.
const NAME_BYTES_MAX: usize = 256;
/// Maximum length of the name of an action, in bytes.
const ACTION_BYTES_MAX: usize = 64;

/// The stream of responses.
pub type AuditResponses = BoxStream<'static, Result<proto::WatchAuditLogResponse, Status>>;

pub(super) async fn handle(
    gateway: &Gateway,
    request: Request<proto::WatchAuditLogRequest>,
) -> Result<Response<AuditResponses>, Status> {
    let call = Call::of(&request);
    let request = request.into_inner();
    let tenant = access(gateway, &call, &request.tenant_id).await?;
    let (after, since) = start(&request, gateway.now()).map_err(Problem::from)?;
    let filter = filter(&request).map_err(Problem::from)?;
    let span = tracing::info_span!("gateway.audit_log.watch", tenant.id = tenant.tenant().as_str());
    let is_live = request.follow;
    let following = Following { tenant, call, after, since, filter, is_live, clock: gateway.clock.clone() };
    let (entries, work) = follow(gateway, following);
    tokio::spawn(work.instrument(span));
    let responses = ReceiverStream::new(entries).map(|entry| Ok(response(entry.map_err(Status::from)?)));
    Ok(Response::new(responses.boxed()))
}

/// The tenant whose log the caller may read.
async fn access(gateway: &Gateway, call: &Call, id: &str) -> Result<TenantAccess, Problem> {
    let principal = call.principal(gateway).await?;
    let tenant = Some(id).filter(|id| !id.is_empty()).map(TenantId::parse).transpose();
    let tenant = tenant.map_err(|violation| violation.within("tenant_id"))?;
    let access = gateway.registry.authorize_audit_reader(&principal, tenant.as_ref()).await;
    access.map_err(|error| match error {
        AccessError::UnknownTenant => {
            let detail = "names no tenant that this token may see";
            Problem::of_field(Reason::RegistryEntryNotFound, "tenant_id", detail)
        }
        error @ (AccessError::MissingScope(_) | AccessError::BoundToAgents | AccessError::UnknownAgent) => {
            access_problem(&error, "tenant_id")
        }
    })
}

/// The position to start after, and the time of the first entry.
fn start(request: &proto::WatchAuditLogRequest, now: Timestamp) -> Result<(AuditPosition, Timestamp), Violation> {
    let since = request.since.map(wire::time::from_proto).transpose().map_err(|violation| violation.within("since"))?;
    if request.after_position.is_empty() {
        let since = since.unwrap_or(AuditMonth::of(now).start());
        return Ok((AuditPosition::start_of(AuditMonth::of(since)), since));
    }
    let position = AuditPosition::parse(&request.after_position).ok_or_else(|| {
        let rule = "is no position: send the position of an entry unchanged";
        Violation::new(ViolationReason::Malformed, rule).within("after_position")
    });
    Ok((position?, since.unwrap_or(Timestamp(i64::MIN))))
}

fn filter(request: &proto::WatchAuditLogRequest) -> Result<AuditFilter, Violation> {
    let kind = parse_enum(request.actor_kind, "actor_kind")?;
    let conversation = text(&request.conversation_id, domain::bounds::CONVERSATION_ID_CHARS_MAX, "conversation_id")?;
    if let Some(id) = &conversation {
        ConversationId::parse(id.as_str()).map_err(|violation| violation.within("conversation_id"))?;
    }
    Ok(AuditFilter {
        actor_kind: AuditActor::from_proto(kind),
        name: text(&request.name, NAME_BYTES_MAX, "name")?,
        action: text(&request.action, ACTION_BYTES_MAX, "action")?,
        conversation,
    })
}

fn text(text: &str, bytes_max: usize, field: &str) -> Result<Option<String>, Violation> {
    if text.len() > bytes_max {
        let rule = format!("has {} bytes, the maximum is {bytes_max}", text.len());
        return Err(out_of_range(rule).within(field));
    }
    Ok(Some(text).filter(|text| !text.is_empty()).map(str::to_owned))
}

fn response(followed: Followed) -> proto::WatchAuditLogResponse {
    let entry = followed.entry;
    proto::WatchAuditLogResponse {
        entry: Some(proto::AuditEntry {
            recorded_at: Some(wire::time::to_proto(followed.recorded_at)),
            actor_kind: entry.actor_kind.to_proto().into(),
            name: entry.name,
            role: entry.role,
            action: entry.action,
            conversation_id: entry.conversation.unwrap_or_default(),
            detail: entry.detail,
            position: followed.position.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_starts_at_a_time_or_after_a_position() {
        let now = AuditMonth::parse("2026-11").unwrap().start();
        let check = |position: &str, since: Option<i64>, expected: Option<(&str, i64)>| {
            let request = proto::WatchAuditLogRequest {
                after_position: position.to_owned(),
                since: since.map(|seconds| prost_types::Timestamp { seconds, nanos: 0 }),
                ..proto::WatchAuditLogRequest::default()
            };
            let started = start(&request, now).ok();
            let expected =
                expected.map(|(position, since)| (AuditPosition::parse(position).unwrap(), Timestamp(since)));
            assert_eq!(started, expected, "{position:?} {since:?}");
        };
        check("", None, Some(("2026-11:0", now.0)));
        check("", Some(0), Some(("1970-01:0", 0)));
        check("2026-10:7", None, Some(("2026-10:7", i64::MIN)));
        check("2026-10:7", Some(1), Some(("2026-10:7", 1_000_000_000)));
        check("7", None, None);
        check("", Some(i64::MAX), None);
    }

    #[test]
    fn texts_of_a_filter_have_bounds() {
        let request = |name: usize, action: usize, conversation: &str| proto::WatchAuditLogRequest {
            name: "n".repeat(name),
            action: "a".repeat(action),
            conversation_id: conversation.to_owned(),
            ..proto::WatchAuditLogRequest::default()
        };
        let field = |request| filter(&request).err().map(|violation| violation.field);
        assert_eq!(field(request(256, 64, "c")), None);
        assert_eq!(field(request(257, 0, "")).map(|field| field.to_string()).as_deref(), Some("name"));
        assert_eq!(field(request(0, 65, "")).map(|field| field.to_string()).as_deref(), Some("action"));
        assert_eq!(field(request(0, 0, "a b")).map(|field| field.to_string()).as_deref(), Some("conversation_id"));
        assert_eq!(filter(&request(0, 0, "")), Ok(AuditFilter::default()));
    }
}
