//! The audit of a conversation's commits: each is checked against the previous one.

use std::fmt;

use crate::commit::Commit;
use crate::event::{Fact, Lifecycle};
use crate::head::{CommitFacts, Head, Status};
use crate::position::{Sequence, Version};

/// A fault of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Versions are missing before its first event: the first and the last of them.
    VersionsMissing(Version, Version),
    /// Its first event has a version that an earlier event has.
    VersionRepeated(Version),
    /// It is the first of the record, but neither creates the conversation nor is a tombstone.
    BeginningMissing,
    /// It has no events.
    Empty,
    /// Its chain does not follow from the previous commit and its own body.
    Chain,
    /// Its head does not follow from the previous commit and its events, in these fields.
    Head(Vec<&'static str>),
    /// One of the latest commits has its id.
    IdRepeated,
    /// It was recorded before the previous commit.
    TimeGoesBack,
}

impl Fault {
    /// The stable name of the fault.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::VersionsMissing(..) => "versions_missing",
            Self::VersionRepeated(_) => "version_repeated",
            Self::BeginningMissing => "beginning_missing",
            Self::Empty => "commit_empty",
            Self::Chain => "chain_broken",
            Self::Head(_) => "head_wrong",
            Self::IdRepeated => "commit_id_repeated",
            Self::TimeGoesBack => "time_goes_back",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::VersionsMissing(first, last) => {
                write!(f, "versions {first} to {last} are missing")
            }
            Self::VersionRepeated(version) => write!(f, "version {version} exists twice"),
            Self::BeginningMissing => f.write_str("the commits before it are missing"),
            Self::Empty => f.write_str("it has no events"),
            Self::Chain => f.write_str("its chain is broken"),
            Self::Head(fields) => write!(f, "its head is wrong in {}", fields.join(", ")),
            Self::IdRepeated => f.write_str("another commit has its id"),
            Self::TimeGoesBack => f.write_str("it was recorded before the previous commit"),
        }
    }
}

/// The faults of a commit whose plain body is `body`; none in an intact record.
///
/// `previous` is the head and the sequence of the previous commit; `None` for the first commit in the record.
#[must_use]
pub fn faults(previous: Option<(&Head, Sequence)>, commit: &Commit, body: &[u8]) -> Vec<Fault> {
    if commit.events.is_empty() {
        return vec![Fault::Empty];
    }
    let Some((head, sequence)) = previous else {
        return faults_of_first(commit, body);
    };
    let mut faults = Vec::new();
    if head.recent_commit(commit.id).is_some() {
        faults.push(Fault::IdRepeated);
    }
    if commit.recorded_at < head.recorded_at {
        faults.push(Fault::TimeGoesBack);
    }
    let expected = head.version.next();
    if commit.first_version > expected {
        let last = Version(commit.first_version.0.saturating_sub(1));
        faults.push(Fault::VersionsMissing(expected, last));
        return faults;
    }
    if commit.first_version < expected {
        faults.push(Fault::VersionRepeated(commit.first_version));
        return faults;
    }
    let folded = Head::after(Some(head), &facts(commit, body, Some(sequence)));
    faults.extend(folded.and_then(|folded| fault_of_head(&folded, &commit.head)));
    faults
}

fn faults_of_first(commit: &Commit, body: &[u8]) -> Vec<Fault> {
    let Some(folded) = Head::after(None, &facts(commit, body, None)) else {
        let is_tombstone = commit.head.status == Status::Erased
            && matches!(commit.events.last(), Some(event) if event.fact == Fact::Lifecycle(Lifecycle::ConversationErased));
        return if is_tombstone { Vec::new() } else { vec![Fault::BeginningMissing] };
    };
    let first = Version(folded.version.0.saturating_sub(commit_len(commit))).next();
    if first != commit.first_version {
        return vec![Fault::Head(vec!["version"])];
    }
    fault_of_head(&folded, &commit.head).into_iter().collect()
}

fn commit_len(commit: &Commit) -> u64 {
    u64::try_from(commit.events.len()).unwrap_or(u64::MAX)
}

fn facts<'c>(commit: &'c Commit, body: &'c [u8], previous: Option<Sequence>) -> CommitFacts<'c> {
    CommitFacts {
        id: commit.id,
        request_digest: commit.request_digest,
        recorded_at: commit.recorded_at,
        events: &commit.events,
        body,
        previous_sequence: previous,
    }
}

/// The difference between a head and the folded one. A wrong chain is a fault of its own, because it depends on bytes.
fn fault_of_head(folded: &Head, head: &Head) -> Option<Fault> {
    if folded == head {
        return None;
    }
    if folded.chain != head.chain {
        return Some(Fault::Chain);
    }
    let fields = [
        ("version", folded.version == head.version),
        ("status", folded.status == head.status),
        ("owner", folded.owner == head.owner),
        ("agent", folded.agent == head.agent),
        ("open_calls", folded.open_calls == head.open_calls),
        ("latest_summary", folded.latest_summary == head.latest_summary),
        ("active_run", folded.active_run == head.active_run),
        ("forked_from", folded.forked_from == head.forked_from),
        ("provider_conversation_id", folded.provider_conversation_id == head.provider_conversation_id),
        ("last_response_id", folded.last_response_id == head.last_response_id),
        ("totals", folded.totals == head.totals),
        ("recorded_at", folded.recorded_at == head.recorded_at),
        ("last_event_at", folded.last_event_at == head.last_event_at),
        ("recent", folded.recent == head.recent),
    ];
    let wrong = fields.into_iter().filter(|(_, same)| !same);
    Some(Fault::Head(wrong.map(|(field, _)| field).collect()))
}

#[cfg(test)]
mod tests;
