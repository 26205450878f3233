//! Every bound of a conversation, with its unit.

/// Most characters of a tenant's or an agent's id.
pub const SCOPE_ID_CHARS_MAX: usize = 64;
/// Most characters of a conversation's id.
pub const CONVERSATION_ID_CHARS_MAX: usize = 128;
/// Characters of a channel's id.
pub const CHANNEL_ID_CHARS: usize = 64;
/// Most bytes of a user's, session's, call's or provider's id, a tool's or model's name, or any other label.
pub const LABEL_BYTES_MAX: usize = 256;
/// Most bytes of a title.
pub const TITLE_BYTES_MAX: usize = 1_024;
/// Most bytes of one text of the client's context (page URL, referrer, user agent, locale, timezone).
pub const CLIENT_TEXT_BYTES_MAX: usize = 4_096;
/// Most bytes of a metadata document.
pub const METADATA_BYTES_MAX: usize = 64 * 1_024;
/// Most events of one commit.
pub const EVENTS_PER_COMMIT_MAX: usize = 500;
/// Stored bytes that a commit counts besides its events: for its envelope, its head and the overhead of its rows.
pub const COMMIT_OVERHEAD_BYTES: u64 = 512;
/// Most bytes of a summary's text.
pub const SUMMARY_BYTES_MAX: usize = 256 * 1_024;
/// Most bytes of one event, encoded without the counts of the writer.
pub const EVENT_BYTES_MAX: usize = 512 * 1_024;
/// Most parts of one message or tool result.
pub const PARTS_MAX: usize = 1_000;
/// Most open tool calls of a conversation.
pub const OPEN_CALLS_MAX: usize = 128;
/// Most events that are recorded with the creation of a conversation: one less than a commit has.
pub const CREATE_EVENTS_MAX: usize = EVENTS_PER_COMMIT_MAX - 1;
/// Most events that are recorded with the start or the end of a run: one less than a commit has.
pub const RUN_EVENTS_MAX: usize = EVENTS_PER_COMMIT_MAX - 1;
/// Most events that are recorded with the creation of a conversation whose first run starts in the same commit.
pub const CREATE_RUN_EVENTS_MAX: usize = EVENTS_PER_COMMIT_MAX - 2;
/// Most parts that are published together.
pub const PARTS_PER_BATCH_MAX: usize = 500;
/// Most bytes of one delta of a part.
pub const DELTA_BYTES_MAX: usize = 256 * 1_024;
/// Most bytes of all deltas of the parts that are published together.
pub const BATCH_DELTA_BYTES_MAX: usize = 1_024 * 1_024;
/// Most bytes of the error message of a run.
pub const RUN_ERROR_BYTES_MAX: usize = 4 * 1_024;
/// Most bytes of a body in the provider log; a longer one is cut and marked as cut.
pub const LOGGED_BODY_BYTES_MAX: usize = 64 * 1_024;
/// Most days of retention of a logged call.
pub const LOG_DAYS_MAX: u32 = 90;
/// Days of retention of a logged call, by default.
pub const LOG_DAYS_DEFAULT: u32 = 14;
/// How many of the latest commits a head lists.
pub const RECENT_COMMITS_MAX: usize = 8;
/// Most ancestors of a fork.
pub const FORK_DEPTH_MAX: u32 = 64;
/// Most labels of a document's namespace.
pub const DOCUMENT_LABELS_MAX: usize = 16;
/// Most bytes of a label.
pub const DOCUMENT_LABEL_BYTES_MAX: usize = 256;
/// Most bytes of all labels of a namespace, with one byte more for each. Indexes contain a namespace whole.
pub const DOCUMENT_NAMESPACE_BYTES_MAX: usize = 1_024;
/// Most bytes of a document's key.
pub const DOCUMENT_KEY_BYTES_MAX: usize = 256;
/// Most bytes of the value of an agent's or owner's document. The value of a conversation's document is bounded by its event.
pub const DOCUMENT_VALUE_BYTES_MAX: usize = 64 * 1_024;
/// Most bytes of a number in the value of a document, and the largest power of ten.
pub const DOCUMENT_NUMBER_MAX: usize = 1_000;
/// Most seconds that a document is read: ten years of 366 days.
pub const DOCUMENT_TTL_SECONDS_MAX: u64 = 10 * 366 * 86_400;
/// Deepest nesting of a JSON document.
pub const JSON_DEPTH_MAX: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    /// The values are part of the contract: the tests of each bound use its constant, and this one its number.
    #[test]
    fn bounds_are_these_numbers() {
        for (name, bound, expected) in [
            ("SCOPE_ID_CHARS_MAX", SCOPE_ID_CHARS_MAX, 64),
            ("CONVERSATION_ID_CHARS_MAX", CONVERSATION_ID_CHARS_MAX, 128),
            ("CHANNEL_ID_CHARS", CHANNEL_ID_CHARS, 64),
            ("LABEL_BYTES_MAX", LABEL_BYTES_MAX, 256),
            ("TITLE_BYTES_MAX", TITLE_BYTES_MAX, 1_024),
            ("CLIENT_TEXT_BYTES_MAX", CLIENT_TEXT_BYTES_MAX, 4_096),
            ("METADATA_BYTES_MAX", METADATA_BYTES_MAX, 65_536),
            ("EVENTS_PER_COMMIT_MAX", EVENTS_PER_COMMIT_MAX, 500),
            ("SUMMARY_BYTES_MAX", SUMMARY_BYTES_MAX, 262_144),
            ("EVENT_BYTES_MAX", EVENT_BYTES_MAX, 524_288),
            ("PARTS_MAX", PARTS_MAX, 1_000),
            ("OPEN_CALLS_MAX", OPEN_CALLS_MAX, 128),
            ("CREATE_EVENTS_MAX", CREATE_EVENTS_MAX, 499),
            ("RUN_EVENTS_MAX", RUN_EVENTS_MAX, 499),
            ("CREATE_RUN_EVENTS_MAX", CREATE_RUN_EVENTS_MAX, 498),
            ("PARTS_PER_BATCH_MAX", PARTS_PER_BATCH_MAX, 500),
            ("DELTA_BYTES_MAX", DELTA_BYTES_MAX, 262_144),
            ("BATCH_DELTA_BYTES_MAX", BATCH_DELTA_BYTES_MAX, 1_048_576),
            ("RUN_ERROR_BYTES_MAX", RUN_ERROR_BYTES_MAX, 4_096),
            ("LOGGED_BODY_BYTES_MAX", LOGGED_BODY_BYTES_MAX, 65_536),
            ("RECENT_COMMITS_MAX", RECENT_COMMITS_MAX, 8),
            ("DOCUMENT_LABELS_MAX", DOCUMENT_LABELS_MAX, 16),
            ("DOCUMENT_LABEL_BYTES_MAX", DOCUMENT_LABEL_BYTES_MAX, 256),
            ("DOCUMENT_NAMESPACE_BYTES_MAX", DOCUMENT_NAMESPACE_BYTES_MAX, 1_024),
            ("DOCUMENT_KEY_BYTES_MAX", DOCUMENT_KEY_BYTES_MAX, 256),
            ("DOCUMENT_VALUE_BYTES_MAX", DOCUMENT_VALUE_BYTES_MAX, 65_536),
            ("DOCUMENT_NUMBER_MAX", DOCUMENT_NUMBER_MAX, 1_000),
            ("JSON_DEPTH_MAX", JSON_DEPTH_MAX, 128),
            ("layout::GENERATIONS_MAX", crate::layout::GENERATIONS_MAX, 8),
            ("layout::PARTITIONS_MAX", usize::from(crate::PARTITIONS_MAX), 1_024),
        ] {
            assert_eq!(bound, expected, "{name}");
        }
        assert_eq!(FORK_DEPTH_MAX, 64);
        assert_eq!((LOG_DAYS_DEFAULT, LOG_DAYS_MAX), (14, 90));
        assert_eq!(COMMIT_OVERHEAD_BYTES, 512);
        assert_eq!(DOCUMENT_TTL_SECONDS_MAX, 316_224_000);
        assert_eq!(crate::TOMBSTONE_IN_FLIGHT_MAX.as_secs(), 3_600);
        assert_eq!(crate::FORKS_HELD_MAX.as_secs(), 180);
    }
}
