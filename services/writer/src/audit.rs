//! The audit log of a tenant: what signed-in people did, what administrators and service tokens read, and who corrected its usage.
//!
//! One conversation for each tenant and month, which only this module writes. Its agent is in no registry, so no token may
//! change or erase it, and only the rpc for it reads it. It is erased with the tenant. Quotas do not apply.
//!
//! The log of a month is archived before the next one is created, so it is complete when a later one exists, also if the clocks of
//! two writers differ: the later writer finds it archived and continues in the next month.

use std::time::Duration;

use domain::event::{Annotation, ClientContext, ConversationCreated, Fact, SystemNoted};
use domain::{
    Action, Actor, AgentId, ChannelId, Command, CommitId, ConversationId, ConversationKey, Create, Expectation, Label,
    NewEvent, Owner, RequestDigest, TenantAccess, Violation,
};
use event_log::CLOCK_SKEW_MAX;
use registry::{AgentAccess, PersonAccess};
use wire::audit::{AuditActor, AuditEntry, AuditMonth};
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

/// An entry.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Who did it.
    pub(crate) actor_kind: AuditActor,
    /// The name of the person, the administrator or the service token.
    pub(crate) name: Label,
    /// The role of the person; the kind of the others.
    pub(crate) role: &'static str,
    /// What was done.
    pub(crate) action: DashboardAction,
    /// The conversation that it was done to.
    pub(crate) conversation: Option<ConversationId>,
    /// More about it, such as the format of an export.
    pub(crate) detail: String,
}

/// Entries of a tenant that are appended as one commit.
#[derive(Debug)]
pub(crate) struct Batch {
    access: AgentAccess,
    events: Vec<NewEvent>,
    /// The caller's key, which an earlier attempt may have used; `None`: each call appends its entries.
    key: Option<EntryKey>,
}

/// The key of a caller's retries: other entries with it are rejected.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryKey {
    pub(crate) id: CommitId,
    /// The field of the id in the request.
    pub(crate) field: &'static str,
    pub(crate) request_digest: RequestDigest,
}

impl Batch {
    /// An entry of a person with a valid session.
    pub(crate) fn of_person(
        person: &PersonAccess,
        action: DashboardAction,
        conversation: Option<ConversationId>,
        detail: String,
    ) -> Result<Self, Violation> {
        let name = person.person.subject().clone();
        let entry = Entry {
            actor_kind: AuditActor::Person,
            role: person.person.role().as_str(),
            name: name.clone(),
            action,
            conversation,
            detail,
        };
        Ok(Self { access: access(person.tenant.clone(), Actor(name))?, events: vec![event(&entry)?], key: None })
    }

    /// Entries that `actor` sends; its retries have the same key.
    pub(crate) fn with_key(
        tenant: TenantAccess,
        actor: Actor,
        entries: &[Entry],
        key: EntryKey,
    ) -> Result<Self, Violation> {
        let events: Result<_, _> = entries.iter().map(event).collect();
        Ok(Self { access: access(tenant, actor)?, events: events?, key: Some(key) })
    }
}

/// Appends entries. The first ones of a month create the log.
pub(crate) async fn append(writer: &Writer, batch: Batch) -> Result<CommitResult, Problem> {
    let month = AuditMonth::of(writer.now());
    match append_to(writer, &batch, month).await {
        // Another writer's clock has reached the next month.
        Err(problem) if problem.reason() == Reason::ConversationArchived => {
            append_to(writer, &batch, month.later()).await
        }
        appended => appended,
    }
}

async fn append_to(writer: &Writer, batch: &Batch, month: AuditMonth) -> Result<CommitResult, Problem> {
    match commit_in_turn(writer, batch.append(month)?).await {
        Err(problem) if problem.reason() == Reason::ConversationNotFound => {}
        appended => return appended,
    }
    // A log of the next month exists if another writer's clock is ahead. Then this month's is not created any more.
    match commit_in_turn(writer, batch.append(month.later())?).await {
        Err(problem) if problem.reason() == Reason::ConversationNotFound => {}
        appended => return appended,
    }
    close(writer, batch, month).await?;
    match commit_in_turn(writer, batch.create(month, batch.events.clone())?).await {
        // Another writer has created it.
        Err(problem) if problem.reason() == Reason::ConversationExists => {
            commit_in_turn(writer, batch.append(month)?).await
        }
        created => created,
    }
}

/// Archives the log of the month before. If it does not exist, and a writer with a slow clock may still create it, it is created.
async fn close(writer: &Writer, batch: &Batch, month: AuditMonth) -> Result<(), Problem> {
    let earlier = month.earlier();
    match commit_in_turn(writer, batch.archive(earlier)?).await {
        Err(problem) if problem.reason() == Reason::ConversationNotFound => {}
        archived => return archived.map(drop),
    }
    let age_nanos = u64::try_from(writer.now().0.saturating_sub(month.start().0));
    if Duration::from_nanos(age_nanos.unwrap_or_default()) > 2 * CLOCK_SKEW_MAX {
        return Ok(());
    }
    match commit_in_turn(writer, batch.create(earlier, Vec::new())?).await {
        Err(problem) if problem.reason() == Reason::ConversationExists => {}
        created => drop(created?),
    }
    commit_in_turn(writer, batch.archive(earlier)?).await.map(drop)
}

impl Batch {
    fn append(&self, month: AuditMonth) -> Result<Intent, Violation> {
        let action = Action::Append { events: self.events.clone(), expected: None };
        self.intent(month, action, self.key)
    }

    fn archive(&self, month: AuditMonth) -> Result<Intent, Violation> {
        self.intent(month, Action::Archive, None)
    }

    fn create(&self, month: AuditMonth, events: Vec<NewEvent>) -> Result<Intent, Violation> {
        let channel = OWNER_DIGIT.repeat(domain::bounds::CHANNEL_ID_CHARS);
        let key = self.key.filter(|_| !events.is_empty());
        let action = Action::Create(Box::new(Create {
            created: ConversationCreated {
                agent: self.access.agent.clone(),
                owner: Owner::Channel(ChannelId::parse(channel)?),
                title: None,
                metadata: None,
                client_context: ClientContext::default(),
                provider_conversation_id: None,
                forked_from: None,
            },
            occurred_at: None,
            events,
            run: None,
        }));
        self.intent(month, action, key)
    }

    fn intent(&self, month: AuditMonth, action: Action, key: Option<EntryKey>) -> Result<Intent, Violation> {
        let agent = self.access.agent.clone();
        let commit = key.map_or_else(Writer::new_commit_id, |key| key.id);
        Ok(Intent {
            access: self.access.clone(),
            key: ConversationKey { tenant: self.access.tenant.tenant().clone(), conversation: month.log()? },
            has_key: key.is_some(),
            key_field: key.map_or("", |key| key.field),
            request_digest: key
                .map_or_else(|| digest(&RecordDashboardActionRequest::default()), |key| key.request_digest),
            command: Command { commit, agent, expectation: Expectation::Any, action },
            attempt: None,
            fork_from: None,
        })
    }
}

fn access(tenant: TenantAccess, actor: Actor) -> Result<AgentAccess, Violation> {
    Ok(AgentAccess { tenant, agent: AgentId::parse(AgentId::AUDIT_LOG)?, actor })
}

fn event(entry: &Entry) -> Result<NewEvent, Violation> {
    let conversation = entry.conversation.as_ref().map(ConversationId::as_str);
    let action = entry.action.as_str_name().trim_start_matches("DASHBOARD_ACTION_").to_lowercase();
    let what = conversation.unwrap_or(match entry.actor_kind {
        AuditActor::Person => "the dashboard",
        AuditActor::Administrator | AuditActor::ServiceToken => entry.detail.as_str(),
    });
    let text = format!("{} ({}) {action}: {what}", entry.name, entry.role);
    let recorded = AuditEntry {
        actor_kind: entry.actor_kind,
        name: entry.name.as_str().to_owned(),
        role: entry.role.to_owned(),
        action,
        conversation: conversation.map(str::to_owned),
        detail: entry.detail.clone(),
    };
    Ok(NewEvent {
        metadata: Some(recorded.to_metadata()?),
        ..NewEvent::from(Fact::Annotation(Annotation::SystemNoted(SystemNoted {
            topic: Some(Label::parse(TOPIC)?),
            text,
        })))
    })
}
