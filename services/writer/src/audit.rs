//! The audit log of a tenant: what signed-in people viewed, exported, erased and changed.
//!
//! One conversation for each tenant and month, which only this module writes. Its agent is in no registry, so no token may
//! read, change or erase it; administrators read it through the dashboard. It is erased with the tenant. Quotas do not apply.

use domain::event::{Annotation, ClientContext, ConversationCreated, Fact, SystemNoted};
use domain::{
    Action, Actor, AgentId, ChannelId, Command, CommitId, ConversationId, ConversationKey, Create, Expectation,
    JsonText, Label, NewEvent, Owner, Timestamp, Violation,
};
use event_log::registry::{AgentAccess, PersonAccess};
use time::OffsetDateTime;
use wire::proto::operate::v1::{DashboardAction, RecordDashboardActionRequest};
use wire::proto::write::v1::CommitResult;
use wire::status::{Problem, Reason};

use crate::commit::commit_in_turn;
use crate::request::digest;
use crate::{Intent, Writer};

/// The topic of every entry.
const TOPIC: &str = "audit";
/// The owner of audit logs; ids of channels are hashes, and never this.
const OWNER_DIGIT: &str = "0";
const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// An entry.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Who did it, with a valid session.
    pub(crate) by: PersonAccess,
    /// What was done.
    pub(crate) action: DashboardAction,
    /// The conversation that it was done to.
    pub(crate) conversation: Option<ConversationId>,
    /// More about it, such as the format of an export.
    pub(crate) detail: String,
}

/// Appends an entry. The first one of a month creates the log.
pub(crate) async fn append(writer: &Writer, entry: Entry) -> Result<CommitResult, Problem> {
    let now = writer.now();
    let access = AgentAccess {
        tenant: entry.by.tenant.clone(),
        agent: AgentId::parse(AgentId::AUDIT_LOG)?,
        actor: Actor(entry.by.person.subject().clone()),
    };
    let log = log_at(now)?;
    let intent = |action| intent(&access, &log, action);
    let event = event(&entry)?;
    let append = || Action::Append { events: vec![event.clone()], expected: None };
    match commit_in_turn(writer, intent(append())).await {
        Err(problem) if problem.reason() == Reason::ConversationNotFound => {}
        appended => return appended,
    }
    let create = create(&access.agent, event.clone())?;
    match commit_in_turn(writer, intent(create)).await {
        // Another writer has created it.
        Err(problem) if problem.reason() == Reason::ConversationExists => {
            commit_in_turn(writer, intent(append())).await
        }
        created => created,
    }
}

fn intent(access: &AgentAccess, log: &ConversationId, action: Action) -> Intent {
    let commit: CommitId = Writer::new_commit_id();
    Intent {
        access: access.clone(),
        key: ConversationKey { tenant: access.tenant.tenant().clone(), conversation: log.clone() },
        has_key: false,
        key_field: "",
        request_digest: digest(&RecordDashboardActionRequest::default()),
        command: Command { commit, agent: access.agent.clone(), expectation: Expectation::Any, action },
        attempt: None,
        fork_from: None,
    }
}

/// The log of the month of a time, in UTC: `history:audit:2026-11`.
fn log_at(now: Timestamp) -> Result<ConversationId, Violation> {
    let date =
        OffsetDateTime::from_unix_timestamp(now.0.div_euclid(NANOS_PER_SECOND)).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (year, month) = (date.year(), u8::from(date.month()));
    let prefix = ConversationId::AUDIT_PREFIX;
    ConversationId::parse(format!("{prefix}{year:04}-{month:02}"))
}

fn create(agent: &AgentId, first: NewEvent) -> Result<Action, Violation> {
    let channel = OWNER_DIGIT.repeat(domain::bounds::CHANNEL_ID_CHARS);
    Ok(Action::Create(Box::new(Create {
        created: ConversationCreated {
            agent: agent.clone(),
            owner: Owner::Channel(ChannelId::parse(channel)?),
            title: None,
            metadata: None,
            client_context: ClientContext::default(),
            provider_conversation_id: None,
            forked_from: None,
        },
        occurred_at: None,
        events: vec![first],
        run: None,
    })))
}

fn event(entry: &Entry) -> Result<NewEvent, Violation> {
    let person = &entry.by.person;
    let conversation = entry.conversation.as_ref().map(ConversationId::as_str);
    let action = entry.action.as_str_name().trim_start_matches("DASHBOARD_ACTION_").to_lowercase();
    let metadata = serde_json::json!({
        "name": person.subject().as_str(),
        "role": person.role().as_str(),
        "action": action,
        "conversation": conversation,
        "detail": entry.detail,
    });
    let what = conversation.unwrap_or("the dashboard");
    Ok(NewEvent {
        metadata: Some(JsonText::parse_metadata(metadata.to_string(), domain::bounds::METADATA_BYTES_MAX)?),
        ..NewEvent::from(Fact::Annotation(Annotation::SystemNoted(SystemNoted {
            topic: Some(Label::parse(TOPIC)?),
            text: format!("{} ({}) {action}: {what}", person.subject(), person.role().as_str()),
        })))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_month_has_a_log() {
        for (seconds, expected) in [
            (0, "history:audit:1970-01"),
            (1_795_996_799, "history:audit:2026-11"),
            (1_796_083_200, "history:audit:2026-12"),
        ] {
            let at = Timestamp(seconds * NANOS_PER_SECOND);
            let log = log_at(at).unwrap();
            assert_eq!(log.as_str(), expected);
            assert!(log.is_audit_log() && log.is_history());
        }
    }
}
