//! A turn: records what the caller sends, and starts a run that answers it.

use domain::event::{HistoryRewound, MessageAppended, Role, ToolReturned};
use domain::{Annotation, CallId, CommitId, Fact, JsonText, NewEvent, Part, RecordedEvent, RunId, Version};
use quotas::Quota;
use runs::UiStream;
use runs::denial::denial_of;
use runs::ui_message::UiRole;
use runtime::http::HttpProblem;
use serde::{Deserialize, Serialize};

use super::{last_turn, problems};
use conversations::generation::{Start, StartAt};
use conversations::open::OwnedChat;
use conversations::quotas::account::{Account, RequestSource};
use conversations::quotas::size_of_message;
use http_listener::state::HttpState;

/// What is recorded and answered.
#[derive(Debug, Default)]
pub(in crate::http) struct Turn {
    facts: Vec<Fact>,
    /// The caller's names of the facts, in order.
    fields: Vec<String>,
    /// Open calls that a person approved. Those with a webhook run before the model is called.
    pub(in crate::http) approved: Vec<CallId>,
    /// Identifies the turn in all of its retries.
    pub(in crate::http) key: Option<CommitId>,
    /// The version that the chat must have; `None`: any.
    pub(in crate::http) expected_version: Option<Version>,
    /// What the model reads instead of the chat; `None`: the chat.
    pub(in crate::http) history: Option<Vec<Fact>>,
    /// The key and the address that usage is counted for.
    pub(in crate::http) via: RequestSource,
    /// The client's own id of the message, stored with it.
    pub(in crate::http) client_message_id: Option<String>,
}

/// Metadata of a message with an id of the client.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientMetadata {
    client_message_id: String,
}

/// A run that answers a turn.
#[derive(Debug)]
pub(in crate::http) struct StartedTurn {
    pub(in crate::http) run: RunId,
    /// Converts its parts for a page that shows all earlier messages.
    pub(in crate::http) ui: UiStream,
}

impl Turn {
    /// Adds a fact; `field` is the caller's name for it.
    pub(in crate::http) fn add_fact(&mut self, field: impl Into<String>, fact: Fact) {
        self.fields.push(field.into());
        self.facts.push(fact);
    }

    /// Adds a message of the user.
    pub(in crate::http) fn add_user_message(&mut self, field: impl Into<String>, parts: Vec<Part>) {
        self.add_message(field, MessageAppended::new(Role::User, parts));
    }

    /// Adds a message.
    pub(in crate::http) fn add_message(&mut self, field: impl Into<String>, message: MessageAppended) {
        self.add_fact(field, Fact::MessageAppended(message));
    }

    /// Whether there is nothing to record and nothing to run.
    pub(in crate::http) fn is_empty(&self) -> bool {
        self.facts.is_empty() && self.approved.is_empty()
    }

    /// Rewinds to a version: later events follow it.
    pub(in crate::http) fn rewind(&mut self, field: impl Into<String>, to: Version) {
        self.add_fact(field, Fact::from(HistoryRewound { to }));
    }

    /// Whether the answer is a new message: it follows a user's message. Rewinds go back to one.
    fn answers_a_message(&self) -> bool {
        matches!(self.facts.last(), Some(Fact::MessageAppended(_) | Fact::Annotation(Annotation::HistoryRewound(_))))
    }

    /// Whether it has approvals or refusals of calls.
    pub(in crate::http) fn decides_on_calls(&self) -> bool {
        let is_denial = |(_, result): (&str, &ToolReturned)| denial_of(result).is_some();
        !self.approved.is_empty() || self.results().any(is_denial)
    }

    /// The messages, with the caller's names of them.
    pub(in crate::http) fn messages(&self) -> impl Iterator<Item = (&str, &MessageAppended)> {
        let fields = self.fields.iter().map(String::as_str);
        fields.zip(&self.facts).filter_map(|(field, fact)| {
            if let Fact::MessageAppended(message) = fact {
                return Some((field, message));
            }
            None
        })
    }

    /// The results of calls, with the caller's names of them.
    pub(in crate::http) fn results(&self) -> impl Iterator<Item = (&str, &ToolReturned)> {
        let fields = self.fields.iter().map(String::as_str);
        fields.zip(&self.facts).filter_map(|(field, fact)| {
            if let Fact::ToolReturned(returned) = fact {
                return Some((field, returned));
            }
            None
        })
    }

    fn events(facts: Vec<Fact>, client_message_id: Option<String>) -> Vec<NewEvent> {
        let metadata = client_message_id.and_then(client_metadata);
        let event = |fact| {
            let is_message = matches!(fact, Fact::MessageAppended(_));
            NewEvent { metadata: metadata.clone().filter(|_| is_message), ..NewEvent::from(fact) }
        };
        facts.into_iter().map(event).collect()
    }
}

/// The metadata of a message with the client's own id, which [`has_id`] finds.
pub(in crate::http) fn client_metadata(client_message_id: String) -> Option<JsonText> {
    let metadata = serde_json::to_string(&ClientMetadata { client_message_id });
    JsonText::parse(metadata.ok()?).ok()
}

/// The idempotency key of a turn, from the client's own id of its message: the same in every retry, and unique to the
/// chat.
pub(in crate::http) fn key_from_message_id(chat: &OwnedChat, client_message_id: &str) -> CommitId {
    let key = &chat.target.key;
    let name = format!("{}\n{}\n{client_message_id}", key.tenant, key.conversation);
    CommitId::named(&name)
}

/// Whether an event has this id: the client's or the record's.
pub(in crate::http) fn has_id(event: &RecordedEvent, id: &str) -> bool {
    let metadata = event.event.metadata.as_ref();
    let own = metadata.and_then(|json| serde_json::from_str::<ClientMetadata>(json.as_str()).ok());
    own.is_some_and(|own| own.client_message_id == id) || event.event.id.to_string() == id
}

/// Records the turn and starts a run; a retry finds the run of the first attempt.
///
/// # Errors
/// 409 `RUN_ACTIVE` with the `run_id` of the active run; an invalid field, by the caller's name; 503.
pub(in crate::http) async fn start(
    state: &HttpState,
    chat: &OwnedChat,
    turn: Turn,
) -> Result<StartedTurn, HttpProblem> {
    let continued = if turn.answers_a_message() {
        None
    } else {
        let last = last_turn::last_message(state, chat).await?;
        last.filter(|last| last.role == UiRole::Assistant)
    };
    let account = Account::of(&chat.target.access, chat.conversation.head.owner.as_ref(), &turn.via);
    let bytes = turn.facts.iter().map(|fact| size_of_message(&wire::event::fact_to_proto(fact))).sum();
    let (quotas, sent) = (state.generations.quotas(), [(Quota::StoredBytes, bytes)]);
    quotas.check_sent(&account, &sent)?;
    let events = Turn::events(turn.facts, turn.client_message_id);
    let at = turn.expected_version.map_or(StartAt::AnyVersion, StartAt::Version);
    let start = Start {
        history: turn.history,
        approved_calls: turn.approved,
        verified_user: chat.authority.verified_user().cloned(),
        idempotency_key: turn.key,
        ..Start::new(account.clone(), chat.target.key.clone(), events, at)
    };
    let started =
        state.generations.start(start).await.map_err(|problem| problems::not_started(problem, &turn.fields))?;
    quotas.count_sent(&account, &sent);
    let approvals = state.approvals(&chat.target.access.agent);
    Ok(StartedTurn { run: started.run, ui: UiStream::new(started.run, continued.as_ref(), approvals) })
}
