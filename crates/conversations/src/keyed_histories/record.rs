//! Appends the new messages of a caller: reads the history, compares, and appends at the version that it read.

use std::time::{Duration, Instant};

use backoff::Backoff;
use domain::event::MessageAppended;
use domain::{CommitId, Version};
use keyed_history::merge::new_turns;
use prost::Message as _;
use tracing::Instrument as _;
use wire::proto::event::v1 as event;
use wire::proto::write::v1 as write;
use wire::status::Problem;

use super::location::HistoryLocation;
use super::record_error::RecordError;
use super::stored_history::{History, HistoryQuery};
use super::warning::Warning;
use crate::commands::{Command, Commands, Issuer, command_target};
use crate::commit_room::{CommitRoom, split};
use crate::request::Call;
use crate::{Gateway, metrics};

/// Maximum number of retries.
const RETRIES_MAX: usize = 4;
/// First wait between two attempts.
const WAIT_BASE: Duration = Duration::from_millis(20);
/// Maximum wait between two attempts.
const WAIT_MAX: Duration = Duration::from_millis(320);

/// A request to record messages.
#[derive(Debug, Clone, Copy)]
pub struct Recording<'call> {
    /// Reads the history.
    pub gateway: &'call Gateway,
    /// Appends under the caller's own token.
    pub commands: &'call Commands,
    /// The caller.
    pub call: &'call Call,
    /// The location of the history, or why it is unknown.
    pub location: Result<&'call HistoryLocation, Warning>,
    /// The caller's messages, oldest first.
    pub current: &'call [MessageAppended],
    /// The version that the caller has seen; `None`: the version of the first read.
    pub seen: Option<Version>,
    /// Equal for all attempts of the call.
    pub idempotency_key: Option<CommitId>,
}

/// The result of a recording.
#[derive(Debug, Default)]
pub struct RecordedHistory {
    /// The last known version of the conversation.
    pub version: Version,
    /// The number of appended messages.
    pub appended: usize,
    /// The position of the last commit; empty: nothing was appended.
    pub position_token: String,
    /// Why not all new messages were recorded.
    pub warning: Option<Warning>,
}

/// Records the new messages, with retries after lost races.
///
/// # Errors
/// The writer rejects the call.
pub async fn record(recording: Recording<'_>) -> Result<RecordedHistory, Problem> {
    let began = Instant::now();
    let mut recorded = RecordedHistory::default();
    recorded.warning = match recording.location {
        Err(warning) => Some(warning),
        Ok(location) => {
            let span = tracing::info_span!(
                "gateway.history.record",
                tenant.id = location.target.key.tenant.as_str(),
                conversation.id = location.conversation_id(),
            );
            let recording = LocatedRecording { request: recording, location };
            let attempts = attempts(recording, &mut recorded);
            attempts.instrument(span).await?
        }
    };
    if let Some(warning) = recorded.warning {
        let location = recording.location.ok();
        warning.log(location.map(HistoryLocation::conversation_id));
    }
    let outcome = recorded.warning.map(Warning::code);
    metrics::history_answered("record", outcome, began.elapsed());
    Ok(recorded)
}

/// A recording whose location is known.
#[derive(Debug, Clone, Copy)]
struct LocatedRecording<'call> {
    request: Recording<'call>,
    location: &'call HistoryLocation,
}

impl LocatedRecording<'_> {
    async fn send(&self, command: impl Command) -> Result<write::CommitResult, RecordError> {
        let Recording { commands, call, .. } = self.request;
        Ok(commands.send(Issuer::Service(call), command).await?)
    }
}

/// Records with retries after lost races. Returns a warning if not all could be recorded.
async fn attempts(recording: LocatedRecording<'_>, recorded: &mut RecordedHistory) -> Result<Option<Warning>, Problem> {
    let mut backoff = Backoff::bounded(WAIT_BASE, WAIT_MAX, RETRIES_MAX);
    let mut seen = recording.request.seen;
    loop {
        let warning = match attempt(recording, &mut seen, recorded).await {
            Ok(()) => return Ok(None),
            Err(RecordError::Refused(problem)) => return Err(problem),
            Err(RecordError::Permanent(warning)) => return Ok(Some(warning)),
            Err(RecordError::Retryable(warning)) => warning,
        };
        if recording.request.call.deadline.is_over() || !backoff.wait().await {
            return Ok(Some(warning));
        }
        metrics::history_retried(warning.code());
    }
}

/// One attempt. Messages that were appended in the meantime are not new for it. The first read sets `seen`.
async fn attempt(
    recording: LocatedRecording<'_>,
    seen: &mut Option<Version>,
    recorded: &mut RecordedHistory,
) -> Result<(), RecordError> {
    let Recording { gateway, current, .. } = recording.request;
    let end = HistoryQuery { messages: current.len(), seen: *seen };
    let history = recording.location.read(gateway, end).await?;
    let exists = history.is_some();
    let history = history.unwrap_or_default();
    recorded.version = history.position.version;
    let seen = *seen.get_or_insert(recorded.version);
    let new = new_messages(&history, seen, current);
    if !new.is_empty() && !exists {
        recorded.version = create(recording).await?;
    }
    let room = CommitRoom::of_record(gateway);
    for commit in split(new, room, room, |(_, message)| message.encoded_len()) {
        let count = commit.len();
        let result = append(recording, commit, recorded.version).await?;
        recorded.version = Version(result.version);
        recorded.position_token = result.position_token;
        recorded.appended += count;
    }
    Ok(())
}

/// A message to append, with its index among the caller's messages.
type NewMessage = (usize, event::MessageAppended);

fn new_messages(history: &History, seen: Version, current: &[MessageAppended]) -> Vec<NewMessage> {
    let indexes = new_turns(history.seen_at(Some(seen)), current).into_iter();
    let new = indexes.filter_map(|index| Some((index, current.get(index)?)));
    new.map(|(index, message)| (index, wire::event::message_to_proto(message))).collect()
}

/// Creates the conversation of the history. Returns its version.
async fn create(recording: LocatedRecording<'_>) -> Result<Version, RecordError> {
    let target = &recording.location.target;
    let conversation = target.key.conversation.as_str();
    let owner = event::owner::Kind::ChannelId(recording.location.channel.as_str().to_owned());
    let request = write::CreateConversationRequest {
        agent_id: target.access.agent.as_str().to_owned(),
        conversation_id: conversation.to_owned(),
        owner: Some(event::Owner { kind: Some(owner) }),
        ..write::CreateConversationRequest::default()
    };
    Ok(Version(recording.send(request).await?.version))
}

/// Appends one commit at the expected version.
async fn append(
    recording: LocatedRecording<'_>,
    commit: Vec<NewMessage>,
    expected: Version,
) -> Result<write::CommitResult, RecordError> {
    let target = &recording.location.target;
    let first = commit.first().map_or(0, |(index, _)| *index);
    let key = recording.request.idempotency_key.map(|key| commit_id(key, first));
    let events = commit.into_iter().map(|(_, message)| event::Event {
        fact: Some(event::event::Fact::MessageAppended(message)),
        ..event::Event::default()
    });
    let request = write::AppendEventsRequest {
        target: Some(write::CommandTarget {
            expected_version: Some(expected.0),
            ..command_target(&target.access.agent, &target.key.conversation, key)
        }),
        events: events.collect(),
        ..write::AppendEventsRequest::default()
    };
    recording.send(request).await
}

/// The id of a commit, derived from the call's key and the index of its first message: equal in all attempts, and unique
/// within the call.
fn commit_id(key: CommitId, first: usize) -> CommitId {
    let index = u64::try_from(first).unwrap_or(u64::MAX);
    key.part(&index.to_be_bytes())
}
