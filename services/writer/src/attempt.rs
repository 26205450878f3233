//! Attempts of requests without an idempotency key. The head names the latest commits with the digests of their requests.

use std::time::Duration;

use domain::{
    Action, Command, Head, RecentCommit, Rejection, RequestDigest, Status, Timestamp, Version, Violation,
    ViolationReason,
};
use wire::proto::write::v1 as proto;

use crate::StoredHead;

/// How long a retry gets the first answer. OpenAI's libraries retry within ten seconds.
pub(crate) const RETRY_WINDOW: Duration = Duration::from_mins(1);

/// An attempt of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// Equal for all attempts of the request.
    pub(crate) digest: RequestDigest,
    /// Whether the client says that it has sent the request before.
    pub(crate) is_retry: bool,
    /// The version of the conversation in the cache when the attempt reached this writer; 0 if the cache had none.
    pub(crate) arrived_at: Version,
}

impl Attempt {
    /// Reads an attempt, which arrives now at a conversation without a cached head.
    /// Errors: the hash has another length.
    pub(crate) fn from_proto(attempt: &proto::Attempt) -> Result<Self, Violation> {
        let bytes = attempt.request_hash.as_ref();
        let hash = <[u8; 32]>::try_from(bytes).map_err(|_| {
            let rule = format!("has {} bytes: send the 32 bytes of a SHA-256", bytes.len());
            Violation::new(ViolationReason::Malformed, rule).within("request_hash")
        })?;
        let mut digest = [0; 16];
        digest.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
        Ok(Self { digest: RequestDigest(digest), is_retry: attempt.is_retry, arrived_at: Version::ZERO })
    }

    /// The commit of another attempt of a command. `None` also if its caller does not see the conversation.
    /// Errors: the attempt overlaps with other commits.
    pub(crate) fn earlier(
        self,
        command: &Command,
        stored: &StoredHead,
        now: Timestamp,
    ) -> Result<Option<RecentCommit>, Rejection> {
        if is_visible(command, &stored.head) { self.recorded(stored, now) } else { Ok(None) }
    }

    /// The commit of another attempt of the request: one of this writer since the arrival, or a recent one if this is a retry.
    /// Errors: other commits of this writer since the arrival.
    fn recorded(self, stored: &StoredHead, now: Timestamp) -> Result<Option<RecentCommit>, Rejection> {
        let since = self.arrived_at.max(stored.loaded_through);
        let window_ns = i64::try_from(RETRY_WINDOW.as_nanos()).unwrap_or(i64::MAX);
        let is_of_request = |commit: &&RecentCommit| {
            let is_recent = now.0.saturating_sub(commit.recorded_at.0) <= window_ns;
            commit.request_digest == self.digest && (commit.first_version > since || (self.is_retry && is_recent))
        };
        let head = &stored.head;
        match head.recent.iter().rev().find(is_of_request) {
            Some(commit) => Ok(Some(*commit)),
            None if head.version > since => Err(Rejection::VersionConflict { expected: since, current: head.version }),
            None => Ok(None),
        }
    }
}

/// Whether the caller of a command sees the conversation. Otherwise the decision rejects the command, and no attempt is searched.
fn is_visible(command: &Command, head: &Head) -> bool {
    let Action::Append { expected, .. } = &command.action else {
        return false;
    };
    let is_owner = expected.is_none() || *expected == head.owner;
    head.agent == command.agent && head.status != Status::Erased && is_owner
}

#[cfg(test)]
mod tests {
    use domain::event::{ClientContext, ConversationCreated, Event, EventTokens, Lifecycle};
    use domain::{AgentId, CommitFacts, CommitId, EventId, Owner, Sequence, UserId, bounds::RECENT_COMMITS_MAX};
    use uuid::Uuid;

    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000_000_000);
    const WINDOW_NS: i64 = 60_000_000_000;

    /// A conversation of commits with one event each; `(n, recorded_at)`: the number of the request, and its time.
    fn head(commits: &[(u8, Timestamp)]) -> Head {
        let mut head: Option<Head> = None;
        for (index, (request, recorded_at)) in commits.iter().enumerate() {
            let event = |fact| Event {
                id: EventId::derived(CommitId(Uuid::nil()), index),
                occurred_at: None,
                metadata: None,
                tokens: EventTokens::default(),
                fact,
            };
            let created = ConversationCreated {
                agent: AgentId::parse("helper").unwrap(),
                owner: Owner::User(UserId::parse("ada").unwrap()),
                title: None,
                metadata: None,
                client_context: ClientContext::default(),
                provider_conversation_id: None,
                forked_from: None,
            };
            let fact = match index {
                0 => Lifecycle::ConversationCreated(created),
                _ => Lifecycle::ConversationRestored,
            };
            let facts = CommitFacts {
                id: CommitId(Uuid::from_u128(u128::try_from(index).unwrap())),
                request_digest: RequestDigest([*request; 16]),
                recorded_at: *recorded_at,
                events: &[event(fact.into())],
                body: &[],
                previous_sequence: head.as_ref().map(|_| Sequence(1)),
            };
            head = Head::after(head.as_ref(), &facts);
        }
        head.unwrap()
    }

    fn attempt(request: u8, arrived_at: u64) -> Attempt {
        let attempt = Attempt::from_proto(&proto::Attempt { request_hash: vec![request; 32].into(), is_retry: false });
        Attempt { arrived_at: Version(arrived_at), ..attempt.unwrap() }
    }

    fn retry(request: u8, arrived_at: u64) -> Attempt {
        Attempt { is_retry: true, ..attempt(request, arrived_at) }
    }

    /// `loaded_through`: the version that was read from the record. The result is the version of the found commit.
    fn check(attempt: Attempt, commits: &[(u8, Timestamp)], loaded_through: u64, expected: Result<Option<u64>, u64>) {
        let stored = StoredHead {
            head: head(commits),
            sequence: Sequence(1),
            recorded: Some(Sequence(1)),
            hibernated_in: None,
            loaded_through: Version(loaded_through),
        };
        let found = attempt.recorded(&stored, NOW).map(|commit| commit.map(|commit| commit.first_version.0)).map_err(
            |rejection| {
                let Rejection::VersionConflict { current, .. } = rejection else { panic!("{rejection}") };
                current.0
            },
        );
        assert_eq!(found, expected, "{attempt:?} {commits:?}");
    }

    #[test]
    fn overlapping_attempts_are_one() {
        let commits = [(0, NOW), (1, NOW), (2, NOW)];
        check(attempt(2, 3), &commits, 0, Ok(None));
        check(attempt(2, 2), &commits, 0, Ok(Some(3)));
        check(attempt(1, 1), &commits, 0, Ok(Some(2)));
        check(attempt(3, 2), &commits, 0, Err(3));
        check(attempt(1, 2), &commits, 0, Err(3));
        // The commits of other writers do not count: they may be older than the attempt.
        check(attempt(2, 1), &commits, 3, Ok(None));
        check(attempt(2, 0), &commits, 2, Ok(Some(3)));
        check(attempt(1, 0), &commits, 2, Err(3));
    }

    #[test]
    fn a_retry_gets_the_first_answer_within_its_window() {
        let old = Timestamp(NOW.0 - WINDOW_NS - 1);
        let recent = Timestamp(NOW.0 - WINDOW_NS);
        let commits = |at| [(0, old), (1, at), (2, NOW)];
        check(retry(1, 3), &commits(recent), 3, Ok(Some(2)));
        check(retry(1, 3), &commits(old), 3, Ok(None));
        check(retry(3, 3), &commits(recent), 3, Ok(None));
        check(attempt(1, 3), &commits(recent), 3, Ok(None));
        // The latest of several equal requests.
        let twice = [(0, NOW), (1, NOW), (1, NOW), (2, NOW)];
        check(retry(1, 4), &twice, 4, Ok(Some(3)));
        // The head lists the latest commits.
        let mut many = vec![(0, NOW), (1, NOW)];
        many.resize(RECENT_COMMITS_MAX + 1, (2, NOW));
        check(retry(1, 9), &many, 9, Ok(Some(2)));
        many.push((2, NOW));
        check(retry(1, 10), &many, 10, Ok(None));
    }

    #[test]
    fn a_hash_has_32_bytes() {
        for (bytes, expected) in [(31, false), (32, true), (33, false)] {
            let read = Attempt::from_proto(&proto::Attempt { request_hash: vec![0; bytes].into(), is_retry: false });
            assert_eq!(read.is_ok(), expected, "{bytes}");
        }
    }
}
