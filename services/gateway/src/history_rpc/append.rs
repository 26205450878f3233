//! Appends what is new of a caller's messages: reads, finds out what is new, and appends exactly behind what it read.

use std::time::Duration;

use domain::bounds::EVENTS_PER_COMMIT_MAX;
use domain::event::MessageAppended;
use domain::{CommitId, Version};
use keyed_history::merge::new_turns;
use prost::Message as _;
use runtime::backoff::Backoff;
use tonic::Status;
use uuid::Uuid;
use wire::proto::event::v1 as event;
use wire::proto::write::v1 as write;

use super::HistoryRpc;
use super::asked::Keyed;
use super::kept;
use super::setback::Setback;
use super::stored::{End, History};
use super::warning::Warning;
use crate::metrics;
use crate::request::Call;

/// Most tries after the first.
const RETRIES_MAX: usize = 4;
/// The first wait between two tries.
const WAIT_BASE: Duration = Duration::from_millis(20);
/// The longest wait between two tries.
const WAIT_MAX: Duration = Duration::from_millis(320);
/// A commit's messages together are at most this part of what one message of the record holds: the rest is for the head,
/// the tokens' counts and the ids, of which every event has some.
const COMMIT_PART: usize = 2;

/// What to record, and where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recording<'call> {
    /// Who calls.
    pub(super) call: &'call Call,
    /// Where to.
    pub(super) keyed: &'call Keyed,
    /// What the caller has.
    pub(super) current: &'call [MessageAppended],
    /// The call's name for its retries.
    pub(super) idempotency_key: Option<CommitId>,
}

/// How far a recording has come.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Progress {
    /// The version that the caller has seen; none: that of the first read.
    pub(super) seen: Option<Version>,
    /// The version of the conversation, as last seen.
    pub(super) version: Version,
    /// How many messages were appended.
    pub(super) appended: usize,
}

/// Records what is new, whoever else does; what could not be recorded is told by the warning.
///
/// # Errors
/// The writer refuses the call.
pub(super) async fn record(
    rpc: &HistoryRpc,
    recording: Recording<'_>,
    progress: &mut Progress,
) -> Result<Option<Warning>, Status> {
    let mut backoff = Backoff::bounded(WAIT_BASE, WAIT_MAX, RETRIES_MAX);
    loop {
        let warning = match attempt(rpc, recording, progress).await {
            Ok(()) => return Ok(None),
            Err(Setback::Refused(status)) => return Err(status),
            Err(Setback::Lasting(warning)) => return Ok(Some(warning)),
            Err(Setback::Passing(warning)) => warning,
        };
        if recording.call.deadline.is_over() || !backoff.wait().await {
            return Ok(Some(warning));
        }
        metrics::history_retried(warning.code());
    }
}

/// One try. What an earlier one appended, and what others did since, is no longer new to this one.
async fn attempt(
    rpc: &HistoryRpc,
    recording: Recording<'_>,
    progress: &mut Progress,
) -> Result<(), Setback> {
    let end = End {
        messages: recording.current.len(),
        seen: progress.seen,
    };
    let history = kept::read(&rpc.gateway, recording.keyed, end).await?;
    let is_begun = history.is_some();
    let history = history.unwrap_or_default();
    progress.version = history.version;
    let seen = *progress.seen.get_or_insert(history.version);
    let new = new_messages(&history, seen, recording.current);
    if !new.is_empty() && !is_begun {
        progress.version = begin(rpc, recording).await?;
    }
    let commit_bytes_max = rpc.gateway.reader.record.payload_bytes_max() / COMMIT_PART;
    for commit in commits(new, commit_bytes_max) {
        let count = commit.len();
        progress.version = append(rpc, recording, commit, progress.version).await?;
        progress.appended += count;
    }
    Ok(())
}

/// A message that is to be appended, and its place among the caller's.
type New = (usize, event::MessageAppended);

fn new_messages(history: &History, seen: Version, current: &[MessageAppended]) -> Vec<New> {
    let places = new_turns(history.seen_at(Some(seen)), current).into_iter();
    let new = places.filter_map(|place| Some((place, current.get(place)?)));
    new.map(|(place, message)| (place, wire::event::message_to_proto(message)))
        .collect()
}

/// The messages in commits of at most [`EVENTS_PER_COMMIT_MAX`], and of at most so many bytes unless one alone is larger.
fn commits(messages: Vec<New>, bytes_max: usize) -> Vec<Vec<New>> {
    let (mut commits, mut commit, mut bytes) = (Vec::new(), Vec::new(), 0);
    for message in messages {
        let size = message.1.encoded_len();
        let is_full = commit.len() == EVENTS_PER_COMMIT_MAX || bytes + size > bytes_max;
        if is_full && !commit.is_empty() {
            commits.push(std::mem::take(&mut commit));
            bytes = 0;
        }
        bytes += size;
        commit.push(message);
    }
    if !commit.is_empty() {
        commits.push(commit);
    }
    commits
}

/// Begins the conversation that keeps the history; gives its version.
async fn begin(rpc: &HistoryRpc, recording: Recording<'_>) -> Result<Version, Setback> {
    let target = &recording.keyed.target;
    let conversation = target.key.conversation.as_str();
    let owner = event::owner::Kind::ChannelId(recording.keyed.channel.as_str().to_owned());
    let request = write::CreateConversationRequest {
        agent_id: target.access.agent.as_str().to_owned(),
        conversation_id: conversation.to_owned(),
        owner: Some(event::Owner { kind: Some(owner) }),
        ..write::CreateConversationRequest::default()
    };
    let mut writer = rpc.writer.write_for(recording.call);
    let begun = writer.create_conversation(request).await?.into_inner();
    Ok(Version(begun.result.unwrap_or_default().version))
}

/// Appends one commit behind a version; gives the version then.
async fn append(
    rpc: &HistoryRpc,
    recording: Recording<'_>,
    commit: Vec<New>,
    expected: Version,
) -> Result<Version, Setback> {
    let target = &recording.keyed.target;
    let first = commit.first().map_or(0, |(place, _)| *place);
    let key = recording
        .idempotency_key
        .map(|key| commit_id(key, first).to_string());
    let events = commit.into_iter().map(|(_, message)| event::Event {
        fact: Some(event::event::Fact::MessageAppended(message)),
        ..event::Event::default()
    });
    let request = write::AppendEventsRequest {
        target: Some(write::CommandTarget {
            agent_id: target.access.agent.as_str().to_owned(),
            conversation_id: target.key.conversation.as_str().to_owned(),
            idempotency_key: key.unwrap_or_default(),
            expected_version: Some(expected.0),
        }),
        events: events.collect(),
    };
    let mut writer = rpc.writer.write_for(recording.call);
    let appended = writer.append_events(request).await?.into_inner();
    Ok(Version(appended.result.unwrap_or_default().version))
}

/// The name of a commit of a call, by the place of its first message: the same at every retry, while no try's commit takes
/// another's name.
fn commit_id(key: CommitId, first: usize) -> CommitId {
    let place = u64::try_from(first).unwrap_or(u64::MAX);
    CommitId(Uuid::new_v5(&key.0, &place.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sizes: &[usize], bytes_max: usize, expected: &[usize]) {
        let messages = sizes.iter().enumerate().map(|(place, size)| {
            let author = "x".repeat(size - 3);
            let message = event::MessageAppended {
                author,
                ..event::MessageAppended::default()
            };
            assert_eq!(message.encoded_len(), *size);
            (place, message)
        });
        let commits = commits(messages.collect(), bytes_max);
        let lengths: Vec<_> = commits.iter().map(Vec::len).collect();
        assert_eq!(lengths, expected);
        let places: Vec<_> = commits.iter().flatten().map(|(place, _)| *place).collect();
        assert!(places.into_iter().eq(0..sizes.len()));
    }

    #[test]
    fn commits_are_bounded_by_events_and_bytes() {
        check(&[], 1_000, &[]);
        check(&[200], 100, &[1]);
        check(&[200, 200, 201], 400, &[2, 1]);
        check(&[200, 200, 200], 399, &[1, 1, 1]);
        check(&[150, 500, 150], 400, &[1, 1, 1]);
        let many = [150; EVENTS_PER_COMMIT_MAX + 1];
        check(&many[1..], usize::MAX, &[EVENTS_PER_COMMIT_MAX]);
        check(&many, usize::MAX, &[EVENTS_PER_COMMIT_MAX, 1]);
    }
}
