//! `hansard audit`: prints the audit log of a tenant, and follows it.

use std::io::Write as _;
use std::time::Duration;

use backoff::Backoff;
use clap::ValueEnum;
use domain::{ConversationId, TenantId, Timestamp};
use serde_json::json;
use wire::audit::{AuditActor, AuditMonth};
use wire::proto::operate::v1 as proto;
use wire::time;

use super::address::GatewayAddress;
use crate::client::{AuditClient, Failure, answer};
use crate::console;
use crate::exit::Exit;
use crate::ids::{conversation, tenant};
use crate::view::when;

const SECONDS_PER_MINUTE: i64 = 60;
const NANOS_PER_SECOND: i64 = 1_000_000_000;
/// First wait before a lost stream is opened again.
const REOPEN_WAIT: Duration = Duration::from_millis(200);
/// Maximum wait before a lost stream is opened again.
const REOPEN_WAIT_MAX: Duration = Duration::from_secs(5);

/// Print the audit log of a tenant, oldest entry first.
///
/// It contains what people did in the dashboard, what administrators read, and, if the tenant asks for it, what service tokens read.
/// Needs a service token with the scope `operate` that is not bound to agents.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard audit --tenant acme
  hansard audit --tenant acme --since 2026-09 --action exported
  hansard audit --tenant acme --since 30d --conversation c-1 --json
  hansard audit --tenant acme --follow --json --after 2026-11:42 >> audit.jsonl")]
pub(crate) struct Args {
    /// The tenant.
    #[arg(long, value_parser = tenant)]
    tenant: TenantId,
    /// Only entries since then: a month such as 2026-11, a time of RFC 3339, or an age such as 30d, 12h or 15m; by default the present
    /// month. Months are those of UTC.
    #[arg(long, value_name = "SINCE", value_parser = parse_since)]
    since: Option<Timestamp>,
    /// Only entries after this `position`, as `--json` has printed it.
    #[arg(long, value_name = "POSITION", default_value = "")]
    after: String,
    /// Continue with new entries until interrupted. After a lost connection, the next entry follows the last one.
    #[arg(long)]
    follow: bool,
    /// Only entries by actors of this kind.
    #[arg(long, value_name = "KIND")]
    actor: Option<ActorKind>,
    /// Only entries by the person, the administrator or the service token of this name.
    #[arg(long, default_value = "")]
    name: String,
    /// Only entries of this action: `signed_in`, `signed_out`, viewed, exported, erased or changed.
    #[arg(long, default_value = "")]
    action: String,
    /// Only entries about this conversation.
    #[arg(long, value_parser = conversation)]
    conversation: Option<ConversationId>,
    /// Print JSON, one object per line: `at`, `tenant`, `actor_kind`, `name`, `role`, `action`, `conversation`, `detail`, `position`.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    address: GatewayAddress,
}

/// The kind of an actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ActorKind {
    /// A person of the dashboard.
    Person,
    /// An administrator with a token that the tenant has signed.
    Administrator,
    /// A back end with a service token.
    ServiceToken,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let mut audit = args.address.service()?.audit();
    let mut request = request(&args);
    let mut backoff = Backoff::new(REOPEN_WAIT, REOPEN_WAIT_MAX);
    loop {
        let before = request.after_position.clone();
        match print(&mut audit, &mut request, &args).await {
            Ok(()) => return Ok(Exit::Done),
            Err(Ended::Stream(failure)) if args.follow && failure.is_transient() => {
                if request.after_position != before {
                    backoff = Backoff::new(REOPEN_WAIT, REOPEN_WAIT_MAX);
                }
                backoff.wait().await;
            }
            Err(Ended::Stream(failure)) => return Err(failure.into()),
            Err(Ended::Output(error)) => return Err(error),
        }
    }
}

/// Why no more entries are printed.
enum Ended {
    /// The stream failed.
    Stream(Failure),
    /// Standard output failed.
    Output(anyhow::Error),
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Stream(failure)
    }
}

/// Prints entries until the stream ends, and moves the request behind each of them.
async fn print(audit: &mut AuditClient, request: &mut proto::WatchAuditLogRequest, args: &Args) -> Result<(), Ended> {
    let mut entries = answer(audit.watch_audit_log(request.clone()).await)?;
    while let Some(response) = entries.message().await.map_err(Failure::from)? {
        let Some(entry) = response.entry else { continue };
        let line = if args.json { json_line(&args.tenant, &entry) } else { text_line(&entry) };
        writeln!(console::out(), "{line}").map_err(|error| Ended::Output(error.into()))?;
        request.after_position = entry.position;
    }
    Ok(())
}

fn request(args: &Args) -> proto::WatchAuditLogRequest {
    let kind = match args.actor {
        None => proto::AuditActorKind::Unspecified,
        Some(ActorKind::Person) => proto::AuditActorKind::Person,
        Some(ActorKind::Administrator) => proto::AuditActorKind::Administrator,
        Some(ActorKind::ServiceToken) => proto::AuditActorKind::ServiceToken,
    };
    proto::WatchAuditLogRequest {
        tenant_id: args.tenant.to_string(),
        after_position: args.after.clone(),
        since: args.since.map(time::to_proto),
        follow: args.follow,
        actor_kind: kind.into(),
        name: args.name.clone(),
        action: args.action.clone(),
        conversation_id: args.conversation.as_ref().map_or_else(String::new, ConversationId::to_string),
    }
}

fn json_line(tenant: &TenantId, entry: &proto::AuditEntry) -> String {
    let at = entry.recorded_at.and_then(|time| time::from_proto(time).ok()).map(when::rfc3339);
    let conversation = Some(&entry.conversation_id).filter(|id| !id.is_empty());
    json!({
        "at": at,
        "tenant": tenant.as_str(),
        "actor_kind": actor_kind(entry),
        "name": entry.name,
        "role": entry.role,
        "action": entry.action,
        "conversation": conversation,
        "detail": entry.detail,
        "position": entry.position,
    })
    .to_string()
}

fn text_line(entry: &proto::AuditEntry) -> String {
    let at = when::seconds(entry.recorded_at.as_ref());
    let what = [entry.conversation_id.as_str(), entry.detail.as_str()].join("  ");
    let (kind, name, action) = (actor_kind(entry), &entry.name, &entry.action);
    crate::printable::cell(format!("{at}  {kind}  {name}  {action}  {what}").trim_end())
}

fn actor_kind(entry: &proto::AuditEntry) -> &'static str {
    AuditActor::from_proto(entry.actor_kind()).map_or("", AuditActor::as_str)
}

/// Parses a month, a time, or an age in days, hours or minutes.
fn parse_since(text: &str) -> Result<Timestamp, &'static str> {
    if let Some(month) = AuditMonth::parse(text) {
        return Ok(month.start());
    }
    let units = [('d', 24 * 60 * SECONDS_PER_MINUTE), ('h', 60 * SECONDS_PER_MINUTE), ('m', SECONDS_PER_MINUTE)];
    let age = units.iter().find_map(|(unit, seconds)| {
        let count: u32 = text.strip_suffix(*unit)?.parse().ok()?;
        i64::from(count).checked_mul(*seconds)?.checked_mul(NANOS_PER_SECOND)
    });
    let start = age.map(|nanos| Timestamp(when::now().0.saturating_sub(nanos)));
    start
        .or_else(|| when::parse_rfc3339(text))
        .ok_or("must be a month such as 2026-11, a time of RFC 3339, or an age such as 30d")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_a_month_a_time_or_an_age() {
        let month = AuditMonth::parse("2026-11").map(AuditMonth::start);
        assert_eq!(parse_since("2026-11").ok(), month);
        assert_eq!(parse_since("2026-11-01T00:00:00Z").ok(), month);
        for (text, seconds) in [("30d", 2_592_000), ("12h", 43_200), ("15m", 900), ("0m", 0)] {
            let start = parse_since(text).unwrap();
            let age = when::now().0 - start.0;
            assert!((0..5).contains(&(age / NANOS_PER_SECOND - seconds)), "{text}: {age}");
        }
        for text in ["", "d", "-1d", "1.5h", "2026-13", "2026-11-01", "90", "yesterday", "4294967295d"] {
            assert!(parse_since(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_line_has_stable_names_and_one_row() {
        let entry = proto::AuditEntry {
            recorded_at: Some(prost_types::Timestamp { seconds: 0, nanos: 0 }),
            actor_kind: proto::AuditActorKind::ServiceToken.into(),
            name: "a\nb".to_owned(),
            role: "service_token".to_owned(),
            action: "viewed".to_owned(),
            detail: "read".to_owned(),
            position: "1970-01:2".to_owned(),
            ..proto::AuditEntry::default()
        };
        let tenant = TenantId::parse("acme").unwrap();
        let expected = r#"{"action":"viewed","actor_kind":"service_token","at":"1970-01-01T00:00:00Z","conversation":null,"detail":"read","name":"a\nb","position":"1970-01:2","role":"service_token","tenant":"acme"}"#;
        let line: serde_json::Value = serde_json::from_str(&json_line(&tenant, &entry)).unwrap();
        assert_eq!(line, serde_json::from_str::<serde_json::Value>(expected).unwrap());
        assert!(!text_line(&entry).contains('\n'));
    }
}
