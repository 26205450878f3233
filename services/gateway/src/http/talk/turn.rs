//! One turn of a chat: what its caller says is recorded, and a run answers it.

use domain::event::{HistoryRewound, MessageAppended, Role, ToolReturned};
use domain::{CallId, CommitId, Fact, JsonText, NewEvent, Part, RecordedEvent, RunId, Version};
use runs::UiStream;
use runs::denial::denial_of;
use runs::ui_message::UiRole;
use runtime::http::HttpProblem;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{behind, refusal};
use crate::generation::Start;
use crate::http::owned_chat::Owned;
use crate::http::positions;
use crate::http::state::HttpState;
use crate::quotas::account::{Account, Via};
use history::Deadline;

/// What is to be recorded and answered.
#[derive(Debug, Default)]
pub(super) struct Turn {
    facts: Vec<Fact>,
    /// The caller's names of the facts, in order.
    fields: Vec<String>,
    /// Open calls that a person has approved: those with a webhook run before the model is asked.
    pub(super) approved: Vec<CallId>,
    /// Names the turn for all of its retries.
    pub(super) key: Option<CommitId>,
    /// The version that the chat must be at; none: whichever.
    pub(super) behind: Option<Version>,
    /// What the model reads in place of the chat; none: the chat.
    pub(super) given: Option<Vec<MessageAppended>>,
    /// How the request came in.
    pub(super) via: Via,
    /// The client's own id of the message, which is kept with it.
    pub(super) client_message_id: Option<String>,
}

/// What is kept with a message that a client has an id of its own for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfClient {
    client_message_id: String,
}

/// A run that answers a turn.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) run: RunId,
    /// What it says to a page that has all that was before it.
    pub(super) ui: UiStream,
}

impl Turn {
    /// Adds what is recorded; `field` is the caller's name for it.
    pub(super) fn record(&mut self, field: impl Into<String>, fact: Fact) {
        self.fields.push(field.into());
        self.facts.push(fact);
    }

    /// Adds what the user says.
    pub(super) fn say(&mut self, field: impl Into<String>, parts: Vec<Part>) {
        self.append(field, MessageAppended::said(Role::User, parts));
    }

    /// Adds a message.
    pub(super) fn append(&mut self, field: impl Into<String>, message: MessageAppended) {
        self.record(field, Fact::MessageAppended(message));
    }

    /// Whether there is nothing to record, and nothing to run.
    pub(super) fn is_empty(&self) -> bool {
        self.facts.is_empty() && self.approved.is_empty()
    }

    /// Goes on from a version: what is recorded next is read as if it came right after it.
    pub(super) fn rewind(&mut self, field: impl Into<String>, to: Version) {
        self.record(field, Fact::HistoryRewound(HistoryRewound { to }));
    }

    /// Whether a user's message stands before its answer, which is a message of its own then. Who rewinds goes back to one.
    fn answers_a_message(&self) -> bool {
        matches!(
            self.facts.last(),
            Some(Fact::MessageAppended(_) | Fact::HistoryRewound(_))
        )
    }

    /// Whether it answers calls: with results, or with a person's word on them.
    pub(super) fn answers_calls(&self) -> bool {
        self.results().next().is_some() || !self.approved.is_empty()
    }

    /// Whether it has a person's word on calls.
    pub(super) fn decides_on_calls(&self) -> bool {
        let is_denial = |(_, result): (&str, &ToolReturned)| denial_of(result).is_some();
        !self.approved.is_empty() || self.results().any(is_denial)
    }

    /// The results of calls that it gives, with the caller's names for them.
    pub(super) fn results(&self) -> impl Iterator<Item = (&str, &ToolReturned)> {
        let fields = self.fields.iter().map(String::as_str);
        fields.zip(&self.facts).filter_map(|(field, fact)| {
            if let Fact::ToolReturned(returned) = fact {
                return Some((field, returned));
            }
            None
        })
    }

    fn events(facts: Vec<Fact>, client_message_id: Option<String>) -> Vec<NewEvent> {
        let of_client = client_message_id.map(|id| OfClient {
            client_message_id: id,
        });
        let metadata = of_client.and_then(|of_client| serde_json::to_string(&of_client).ok());
        let metadata = metadata.and_then(|json| JsonText::parse(&json).ok());
        let event = |fact| {
            let is_said = matches!(fact, Fact::MessageAppended(_));
            NewEvent {
                metadata: metadata.clone().filter(|_| is_said),
                ..NewEvent::from(fact)
            }
        };
        facts.into_iter().map(event).collect()
    }
}

/// The name of a turn by a client's own id of its message: the same at every retry, and of no other chat.
pub(super) fn key_of(chat: &Owned, client_message_id: &str) -> CommitId {
    let key = &chat.target.key;
    let name = format!("{}\n{}\n{client_message_id}", key.tenant, key.conversation);
    CommitId(Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()))
}

/// Whether a client means this event by an id: its own, or the record's.
pub(super) fn is_called(event: &RecordedEvent, id: &str) -> bool {
    let metadata = event.event.metadata.as_ref();
    let of_client = metadata.and_then(|json| serde_json::from_str::<OfClient>(json.as_str()).ok());
    of_client.is_some_and(|of_client| of_client.client_message_id == id)
        || event.event.id.to_string() == id
}

/// Records the turn and has a run answer it; a retry finds the run of the first try.
///
/// # Errors
/// 409 `RUN_ACTIVE` with the other's `run_id`; what breaks a rule, by the caller's names; 503.
pub(super) async fn begin(
    state: &HttpState,
    chat: &Owned,
    turn: Turn,
) -> Result<Begun, HttpProblem> {
    let continued = if turn.answers_a_message() {
        None
    } else {
        let last = behind::last_message(state, chat).await?;
        last.filter(|last| last.role == UiRole::Assistant)
    };
    let start = Start {
        access: chat.target.access.clone(),
        account: Account::of(
            &chat.target.access,
            chat.conversation.head.owner.as_ref(),
            &turn.via,
        ),
        key: chat.target.key.clone(),
        events: Turn::events(turn.facts, turn.client_message_id),
        behind: turn.behind,
        given: turn.given,
        approved: turn.approved,
        verified_user: chat.acting.verified_user().cloned(),
        idempotency_key: turn.key,
        deadline: Deadline::until(None).at_most(crate::http::commands::COMMAND_MAX),
    };
    let begun = state.generations.start(start).await;
    let begun = begun.map_err(|status| refusal::of_start(&status, &turn.fields))?;
    positions::wrote(&begun.commit.position_token);
    let approvals = state.approvals(&chat.target.access.agent);
    Ok(Begun {
        run: begun.run,
        ui: UiStream::new(begun.run, continued.as_ref(), approvals),
    })
}
