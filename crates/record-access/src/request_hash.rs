//! The identity of requests of clients that send no idempotency key.
//!
//! A request that appends items sends its hash to the writer, which finds other attempts.
//!
//! The key of a request that depends on what it has read is derived from the conversation, its version before the request and the
//! request. So an attempt that overtakes another one of the same request gets its answer. After the first attempt the version is
//! another one, and only the client's own word that it has sent the request before distinguishes a retry from a second, equal
//! request.

use std::time::Duration;

use domain::{CommitId, ConversationKey, Head, RecentCommit, Timestamp, Version};
use sha2::{Digest as _, Sha256};
use uuid::Builder;
use wire::proto::write::v1 as write;

/// How long the answer of a request is given again to its retries. OpenAI's libraries retry within ten seconds.
pub const RETRY_WINDOW: Duration = Duration::from_mins(1);

/// What identifies a request in all of its attempts, except the version.
#[derive(Debug, Clone, Copy)]
pub struct RequestHash([u8; 32]);

impl RequestHash {
    /// The hash of a request about a conversation; `parts` are its name and its contents.
    #[must_use]
    pub fn of<'a>(key: &'a ConversationKey, parts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hash = Sha256::new();
        let place = [key.tenant.as_str(), key.conversation.as_str()];
        for text in place.into_iter().chain(parts) {
            hash.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(text);
        }
        Self(hash.finalize().into())
    }

    /// An attempt of the request, for the writer to find another one.
    #[must_use]
    pub fn attempt(self) -> write::Attempt {
        write::Attempt { request_hash: self.0.to_vec().into(), is_retry: false }
    }

    /// The key of the request after a version, which was recorded at this time. As the key has the time of the commit before
    /// it, every commit with the key is within the duplicate window of a key that the writer takes for young.
    #[must_use]
    pub fn key(self, version: Version, recorded_at: Timestamp) -> CommitId {
        let mut hash = Sha256::new();
        hash.update(self.0);
        hash.update(version.0.to_be_bytes());
        let hash: [u8; 32] = hash.finalize().into();
        let mut random = [0; 10];
        random.copy_from_slice(hash.split_at(10).0);
        let millis = u64::try_from(recorded_at.0 / 1_000_000).unwrap_or_default();
        CommitId(Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
    }

    /// The key of the request if it is the next one after this head.
    #[must_use]
    pub fn next_key(self, head: &Head) -> CommitId {
        self.key(head.version, head.recorded_at)
    }

    /// The commit that created the conversation, if it is of this request. Its key is that of version 0, with its own time.
    #[must_use]
    pub fn creation(self, head: &Head) -> Option<RecentCommit> {
        let first = head.recent.first().filter(|_| head.lists_every_commit())?;
        let (seconds, nanos) = first.id.0.get_timestamp()?.to_unix();
        let created_at = Timestamp::from_parts(i64::try_from(seconds).ok()?, nanos)?;
        (self.key(Version::ZERO, created_at) == first.id).then_some(*first)
    }

    /// The commit of an earlier attempt of a request that is a retry, if it is one of the latest.
    #[must_use]
    pub fn earlier(self, head: &Head, now: Timestamp) -> Option<RecentCommit> {
        let mut pairs = head.recent.iter().zip(head.recent.iter().skip(1));
        let found = pairs
            .rfind(|(before, commit)| {
                is_within_window(commit.recorded_at, now)
                    && self.key(before.last_version, before.recorded_at) == commit.id
            })
            .map(|(_, commit)| *commit);
        let creation = || {
            let creation = self.creation(head)?;
            is_within_window(creation.recorded_at, now).then_some(creation)
        };
        found.or_else(creation)
    }
}

/// Whether a commit of this time may be that of an earlier attempt.
#[must_use]
pub fn is_within_window(recorded_at: Timestamp, now: Timestamp) -> bool {
    let window_ns = i64::try_from(RETRY_WINDOW.as_nanos()).unwrap_or(i64::MAX);
    now.0.saturating_sub(recorded_at.0) <= window_ns
}

#[cfg(test)]
mod tests {
    use domain::{ConversationId, TenantId};

    use super::*;

    fn hash(conversation: &str, body: &str) -> RequestHash {
        let key = ConversationKey {
            tenant: TenantId::parse("t").unwrap(),
            conversation: ConversationId::parse(conversation).unwrap(),
        };
        RequestHash::of(&key, ["items", body])
    }

    #[test]
    fn a_key_depends_on_conversation_version_and_request() {
        let at = Timestamp(1_800_000_000_000_000_000);
        let key = hash("a", "x").key(Version(1), at);
        assert_eq!(key, hash("a", "x").key(Version(1), at));
        assert_ne!(key, hash("a", "x").key(Version(2), at));
        assert_ne!(key, hash("a", "y").key(Version(1), at));
        assert_ne!(key, hash("b", "x").key(Version(1), at));
        assert_eq!(key.0.get_version_num(), 7);
    }

    #[test]
    fn the_window_at_its_edge() {
        let window_ns = i64::try_from(RETRY_WINDOW.as_nanos()).unwrap();
        assert!(is_within_window(Timestamp(5), Timestamp(5 + window_ns)));
        assert!(!is_within_window(Timestamp(5), Timestamp(6 + window_ns)));
    }
}
