//! A conversation without its events.

use domain::{ClientContext, Conversation, ForkPoint, Owner, Status, Totals};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::content::Verbatim;
use super::instant::rfc3339;

/// A conversation without its events.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationBody {
    /// Its id, unique in its tenant.
    #[schema(example = "0198c1a2-7c1e-7b5e-9d0a-1f6f0c9b2a11")]
    id: String,
    /// Its id for services and administrators, for frontends: the same, or `named:`, the id and a tag of the owner if a frontend chose
    /// the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    record_id: Option<String>,
    /// The agent.
    #[schema(example = "support")]
    agent_id: String,
    /// The owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<OwnerBody>,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "A question about shipping")]
    title: Option<String>,
    /// The status.
    status: StatusName,
    /// When its first event was recorded; RFC 3339.
    #[schema(example = "2026-11-22T05:00:00.25Z")]
    created_at: String,
    /// When its last event was recorded; RFC 3339.
    #[schema(example = "2026-11-22T05:04:09.5Z")]
    updated_at: String,
    /// The time of the last event, by the events' own times; listings sort by it. RFC 3339.
    #[schema(example = "2026-11-22T05:04:09.5Z")]
    last_event_at: String,
    /// The number of its last event: events are numbered 1, 2, 3 … without gaps.
    #[schema(example = 12)]
    version: u64,
    /// The client, when the conversation was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<ContextBody>,
    /// The metadata, as it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Verbatim>,
    /// The active run.
    #[serde(skip_serializing_if = "Option::is_none")]
    active_run_id: Option<String>,
    /// The parent, if it is a fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    forked_from: Option<ForkPointBody>,
    /// Totals of the conversation; of a fork, without its parent.
    totals: TotalsBody,
}

/// The owner of a conversation: exactly one is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum OwnerBody {
    /// A user, as the tenant names them.
    UserId(String),
    /// A session, by the id of its owner: `issued:…`, or the caller's choice.
    SessionId(String),
    /// A chat of a messaging channel: a keyed hash of the caller's key. Only administrators see its histories.
    ChannelId(String),
}

/// The status of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum StatusName {
    /// Accepts events.
    Active,
    /// Accepts no events until it is restored.
    Archived,
    /// Erased; never returned.
    #[serde(skip_deserializing)]
    Erased,
}

/// The client, when its conversation was created.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextBody {
    /// The URL of the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    page_url: Option<String>,
    /// The URL of the page before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    referrer: Option<String>,
    /// Its user agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_agent: Option<String>,
    /// Its locale: a BCP 47 tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    locale: Option<String>,
    /// Its timezone: an IANA name.
    #[serde(skip_serializing_if = "Option::is_none")]
    timezone: Option<String>,
    /// Other values that the client gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_metadata: Option<Verbatim>,
}

/// The parent of a fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ForkPointBody {
    /// The conversation.
    #[schema(example = "0198c1a2-7c1e-7b5e-9d0a-1f6f0c9b2a11")]
    id: String,
    /// The last version that the fork shares with its parent.
    #[schema(example = 4)]
    version: u64,
}

/// Totals of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TotalsBody {
    /// Messages, without tool calls and their results.
    messages: u64,
    /// Tokens that models read, including cached ones.
    input_tokens: u64,
    /// Tokens that models wrote.
    output_tokens: u64,
    /// Tokens that models read from a cache.
    cached_tokens: u64,
}

impl From<&Conversation> for ConversationBody {
    fn from(conversation: &Conversation) -> Self {
        let head = &conversation.head;
        Self {
            id: conversation.id.as_str().to_owned(),
            record_id: None,
            agent_id: head.agent.as_str().to_owned(),
            owner: head.owner.as_ref().map(OwnerBody::from),
            title: conversation.title.clone(),
            status: head.status.into(),
            created_at: rfc3339(conversation.created_at),
            updated_at: rfc3339(head.recorded_at),
            last_event_at: rfc3339(head.last_event_at),
            version: head.version.0,
            context: ContextBody::of(&conversation.client_context),
            metadata: conversation.metadata.clone().map(Verbatim),
            active_run_id: head.active_run.map(|run| run.id.to_string()),
            forked_from: head.forked_from.as_ref().map(ForkPointBody::from),
            totals: head.totals.into(),
        }
    }
}

impl ConversationBody {
    /// As the owner reads it, to whom `shown` returns the id of a conversation for an id of the record.
    #[must_use]
    pub fn named(mut self, shown: impl Fn(&str) -> &str) -> Self {
        let id = shown(&self.id).to_owned();
        self.record_id = Some(std::mem::replace(&mut self.id, id));
        self.forked_from = self.forked_from.map(|point| ForkPointBody { id: shown(&point.id).to_owned(), ..point });
        self
    }
}

impl From<&Owner> for OwnerBody {
    fn from(owner: &Owner) -> Self {
        match owner {
            Owner::User(id) => Self::UserId(id.as_str().to_owned()),
            Owner::Session(id) => Self::SessionId(id.as_str().to_owned()),
            Owner::Channel(id) => Self::ChannelId(id.as_str().to_owned()),
        }
    }
}

impl From<Status> for StatusName {
    fn from(status: Status) -> Self {
        match status {
            Status::Active => Self::Active,
            Status::Archived => Self::Archived,
            Status::Erased => Self::Erased,
        }
    }
}

impl From<StatusName> for Status {
    fn from(status: StatusName) -> Self {
        match status {
            StatusName::Active => Self::Active,
            StatusName::Archived => Self::Archived,
            StatusName::Erased => Self::Erased,
        }
    }
}

impl ContextBody {
    /// `None`: the client gave nothing.
    pub(crate) fn of(context: &ClientContext) -> Option<Self> {
        (*context != ClientContext::default()).then(|| Self {
            page_url: context.page_url.clone(),
            referrer: context.referrer.clone(),
            user_agent: context.user_agent.clone(),
            locale: context.locale.clone(),
            timezone: context.timezone.clone(),
            custom_metadata: context.custom_metadata.clone().map(Verbatim),
        })
    }
}

impl From<&ForkPoint> for ForkPointBody {
    fn from(point: &ForkPoint) -> Self {
        Self { id: point.conversation.as_str().to_owned(), version: point.version.0 }
    }
}

impl From<Totals> for TotalsBody {
    fn from(totals: Totals) -> Self {
        Self {
            messages: totals.messages,
            input_tokens: totals.input_tokens,
            output_tokens: totals.output_tokens,
            cached_tokens: totals.cached_tokens,
        }
    }
}
