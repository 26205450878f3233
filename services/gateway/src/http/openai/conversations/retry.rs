//! Retries of clients that send no idempotency key.
//!
//! A request that appends items sends its hash to the writer, which finds other attempts.
//!
//! The key of a request that depends on what it has read is derived from the conversation, its version before the request and the
//! request. So an attempt that overtakes another one of the same request gets its answer. After the first attempt the version is
//! another one, and only the header `x-stainless-retry-count`, which OpenAI's libraries send, distinguishes a retry from a second,
//! equal request.

use std::time::Duration;

use axum::http::HeaderMap;
use domain::{CommitId, ConversationKey, Head, RecentCommit, Timestamp, Version};
use sha2::{Digest as _, Sha256};
use uuid::Builder;
use wire::proto::write::v1 as write;

/// How long the answer of a request is given again to its retries. OpenAI's libraries retry within ten seconds.
pub(in crate::http::openai) const RETRY_WINDOW: Duration = Duration::from_mins(1);

/// The header with the number of earlier attempts of a request.
const RETRY_COUNT_HEADER: &str = "x-stainless-retry-count";

/// What identifies a request in all of its attempts, except the version.
#[derive(Debug, Clone, Copy)]
pub(in crate::http::openai) struct RequestHash([u8; 32]);

impl RequestHash {
    /// The hash of a request about a conversation; `parts` are its name and its contents.
    pub(in crate::http::openai) fn of<'a>(key: &'a ConversationKey, parts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hash = Sha256::new();
        let place = [key.tenant.as_str(), key.conversation.as_str()];
        for text in place.into_iter().chain(parts) {
            hash.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(text);
        }
        Self(hash.finalize().into())
    }

    /// An attempt of the request, for the writer to find another one.
    pub(in crate::http::openai) fn attempt(self, headers: &HeaderMap) -> write::Attempt {
        write::Attempt { request_hash: self.0.to_vec().into(), is_retry: is_retry(headers) }
    }

    /// The key of the request after a version, which was recorded at this time. As the key has the time of the commit before
    /// it, every commit with the key is within the duplicate window of a key that the writer takes for young.
    pub(in crate::http::openai) fn key(self, version: Version, recorded_at: Timestamp) -> CommitId {
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
    pub(in crate::http::openai) fn next_key(self, head: &Head) -> CommitId {
        self.key(head.version, head.recorded_at)
    }

    /// The commit that created the conversation, if it is of this request. Its key is that of version 0, with its own time.
    pub(in crate::http::openai) fn creation(self, head: &Head) -> Option<RecentCommit> {
        let first = head.recent.first().filter(|_| head.lists_every_commit())?;
        let (seconds, nanos) = first.id.0.get_timestamp()?.to_unix();
        let created_at = Timestamp::from_parts(i64::try_from(seconds).ok()?, nanos)?;
        (self.key(Version::ZERO, created_at) == first.id).then_some(*first)
    }

    /// The commit of an earlier attempt, if the request is a retry and the commit is one of the latest.
    pub(in crate::http::openai) fn earlier(
        self,
        headers: &HeaderMap,
        head: &Head,
        now: Timestamp,
    ) -> Option<RecentCommit> {
        if !is_retry(headers) {
            return None;
        }
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

/// Whether the client says that it has sent the request before.
pub(in crate::http::openai) fn is_retry(headers: &HeaderMap) -> bool {
    let count = headers.get(RETRY_COUNT_HEADER).and_then(|count| count.to_str().ok()?.parse::<u32>().ok());
    count.is_some_and(|count| count > 0)
}

pub(in crate::http::openai) fn is_within_window(recorded_at: Timestamp, now: Timestamp) -> bool {
    let window_ns = i64::try_from(RETRY_WINDOW.as_nanos()).unwrap_or(i64::MAX);
    now.0.saturating_sub(recorded_at.0) <= window_ns
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
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
    fn only_counted_attempts_are_retries() {
        let headers = |count: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_COUNT_HEADER, HeaderValue::from_static(count));
            headers
        };
        assert!(!is_retry(&HeaderMap::new()));
        for (count, expected) in [("0", false), ("1", true), ("2", true), ("x", false)] {
            assert_eq!(is_retry(&headers(count)), expected, "{count}");
        }
    }

    #[test]
    fn the_window_at_its_edge() {
        let window_ns = i64::try_from(RETRY_WINDOW.as_nanos()).unwrap();
        assert!(is_within_window(Timestamp(5), Timestamp(5 + window_ns)));
        assert!(!is_within_window(Timestamp(5), Timestamp(6 + window_ns)));
    }
}
