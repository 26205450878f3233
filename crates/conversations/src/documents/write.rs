//! Records and deletes documents: commands of the writer under the caller's own token.

use domain::bounds::DOCUMENT_VALUE_BYTES_MAX;
use domain::document::parse_ttl;
use domain::{CommitId, JsonText, Timestamp, Version, Violation};
use wire::conversation::owner_to_proto;
use wire::proto::event::v1 as event;
use wire::proto::event::v1::event::Fact;
use wire::proto::write::v1 as proto;
use wire::status::{Problem, Reason};

use super::find::{DocumentState, find};
use super::scope::DocumentLocation;
use crate::Gateway;
use crate::commands::{Command, Commands, Issuer, command_target, key_text};
use crate::positions::record_write;
use crate::request::Call;

/// A change of a document.
#[derive(Debug, Clone, Copy)]
pub struct Change<'call> {
    /// Reads the document.
    pub gateway: &'call Gateway,
    /// Appends under the caller's own token.
    pub commands: &'call Commands,
    /// The caller.
    pub call: &'call Call,
    /// The document.
    pub location: &'call DocumentLocation,
    /// The version that it must have, 0: it must not exist; `None`: any.
    pub expected: Option<u64>,
    /// Equal for all attempts of the call.
    pub key: Option<CommitId>,
    /// The present time.
    pub now: Timestamp,
}

impl Change<'_> {
    /// Whether it is a retry whose first attempt made the last commit of the document.
    fn is_recorded_in(&self, state: &DocumentState) -> bool {
        self.key.is_some() && state.last_commit == self.key
    }

    async fn send(&self, command: impl Command) -> Result<Written, Problem> {
        let result = self.commands.send(Issuer::Service(self.call), command).await?;
        Ok(Written { version: result.version, recorded_at: result.recorded_at, position_token: result.position_token })
    }
}

/// A new value.
#[derive(Debug, Clone)]
pub struct NewValue {
    /// JSON text.
    pub value_json: String,
    /// It is read for this many seconds; 0: for ever.
    pub ttl_seconds: u64,
}

/// A recorded value.
#[derive(Debug, Clone, Default)]
pub struct Written {
    /// The version of the document.
    pub version: u64,
    /// When it was recorded.
    pub recorded_at: Option<prost_types::Timestamp>,
    /// The position of the commit.
    pub position_token: String,
}

/// The result of a deletion.
#[derive(Debug, Clone, Default)]
pub struct Deleted {
    /// Whether there was a document.
    pub deleted: bool,
    /// The recorded deletion; the version is 0 if nothing was recorded.
    pub written: Written,
}

/// Records a value.
///
/// # Errors
/// The document has another version than expected or was erased; the value is invalid; the writer rejects the call.
pub async fn put(change: Change<'_>, value: NewValue) -> Result<Written, Problem> {
    change.location.owner()?;
    check(&value)?;
    let name = &change.location.name;
    let fact = Fact::DocumentPut(event::DocumentPut {
        namespace: name.namespace.labels().to_vec(),
        key: name.key.clone(),
        value_json: value.value_json,
        ttl_seconds: value.ttl_seconds,
    });
    match change.expected {
        None => put_any(change, fact).await,
        Some(0) => put_new(change, fact).await,
        Some(version) => match append(change, &fact, Some(version)).await {
            Err(problem) if problem.reason() == Reason::ConversationNotFound => Err(conflict(version, 0)),
            outcome => outcome,
        },
    }
}

/// Deletes a document, if there is one.
///
/// # Errors
/// As [`put`].
pub async fn delete(change: Change<'_>) -> Result<Deleted, Problem> {
    change.location.owner()?;
    let state = find(change.gateway, change.location).await?;
    if change.is_recorded_in(&state) && state.value.is_none() {
        return Ok(Deleted { deleted: true, written: recorded_before(state.version, state) });
    }
    let value = state.live(change.now);
    let version = value.map_or(0, |value| value.version.0);
    if let Some(expected) = change.expected.filter(|expected| *expected != version) {
        return Err(conflict(expected, version));
    }
    if value.is_none() {
        return Ok(Deleted::default());
    }
    let name = &change.location.name;
    let fact = Fact::DocumentDeleted(event::DocumentDeleted {
        namespace: name.namespace.labels().to_vec(),
        key: name.key.clone(),
    });
    Ok(Deleted { deleted: true, written: append(change, &fact, change.expected).await? })
}

/// Checks the value before the writer does, so that the error names the caller's field.
fn check(value: &NewValue) -> Result<(), Violation> {
    let json = value.value_json.as_str();
    JsonText::parse_comparable(json, DOCUMENT_VALUE_BYTES_MAX).map_err(|violation| violation.within("value_json"))?;
    parse_ttl(value.ttl_seconds).map_err(|violation| violation.within("ttl_seconds"))?;
    Ok(())
}

/// Records a value, whatever the version. A retry sends the same commands in the same order, so that the writer finds the first
/// attempt.
async fn put_any(change: Change<'_>, fact: Fact) -> Result<Written, Problem> {
    if change.key.is_none() {
        match append(change, &fact, None).await {
            Err(problem) if problem.reason() == Reason::ConversationNotFound => {}
            outcome => return outcome,
        }
    }
    match create(change, &fact).await {
        Err(problem) if problem.reason() == Reason::ConversationExists => append(change, &fact, None).await,
        outcome => outcome,
    }
}

/// Records the first value, or the first one after a deletion or an expiry.
async fn put_new(change: Change<'_>, fact: Fact) -> Result<Written, Problem> {
    match create(change, &fact).await {
        Err(problem) if problem.reason() == Reason::ConversationExists => {}
        outcome => return outcome,
    }
    let state = find(change.gateway, change.location).await?;
    let Some(value) = state.live(change.now) else {
        return append(change, &fact, Some(state.version.0)).await;
    };
    if change.is_recorded_in(&state) {
        // The first attempt has recorded it after a deletion.
        return Ok(recorded_before(value.version, state));
    }
    Err(conflict(0, value.version.0))
}

async fn create(change: Change<'_>, fact: &Fact) -> Result<Written, Problem> {
    let target = &change.location.target;
    let owner = change.location.owner()?;
    // Another key than that of an append: the writer rejects a key with another request.
    let key = change.key.map(|key| key.part(b"create"));
    let request = proto::CreateConversationRequest {
        agent_id: target.access.agent.to_string(),
        conversation_id: target.key.conversation.to_string(),
        idempotency_key: key_text(key),
        owner: Some(owner_to_proto(owner)),
        events: vec![new_event(fact)],
        ..proto::CreateConversationRequest::default()
    };
    change.send(request).await
}

async fn append(change: Change<'_>, fact: &Fact, expected: Option<u64>) -> Result<Written, Problem> {
    let target = &change.location.target;
    let command = command_target(&target.access.agent, &target.key.conversation, change.key);
    let request = proto::AppendEventsRequest {
        target: Some(proto::CommandTarget { expected_version: expected, ..command }),
        events: vec![new_event(fact)],
        ..proto::AppendEventsRequest::default()
    };
    change.send(request).await
}

fn new_event(fact: &Fact) -> event::Event {
    event::Event { fact: Some(fact.clone()), ..event::Event::default() }
}

/// What the first attempt has recorded.
fn recorded_before(version: Version, state: DocumentState) -> Written {
    record_write(&state.position_token);
    Written {
        version: version.0,
        recorded_at: Some(wire::time::to_proto(state.recorded_at)),
        position_token: state.position_token,
    }
}

fn conflict(expected: u64, current: u64) -> Problem {
    let message = format!("the document is at version {current}, not at {expected}");
    Problem::new(Reason::VersionConflict, message).with("current_version", current.to_string())
}
