//! Every bound on what a conversation may hold, in one place, with its unit.

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
/// What a commit counts of the stored bytes besides its events: its envelope, its head and what its rows take around them.
pub const COMMIT_OVERHEAD_BYTES: u64 = 512;
/// Most bytes of a summary's text.
pub const SUMMARY_BYTES_MAX: usize = 256 * 1_024;
/// Most bytes of one event, as encoded without what the writer counted.
pub const EVENT_BYTES_MAX: usize = 512 * 1_024;
/// Most parts of one message or tool result.
pub const PARTS_MAX: usize = 1_000;
/// Most tool calls of a conversation that may wait for a result at once.
pub const OPEN_CALLS_MAX: usize = 128;
/// Most events that are recorded with the start or the end of a run: one less than a commit holds.
pub const RUN_EVENTS_MAX: usize = EVENTS_PER_COMMIT_MAX - 1;
/// Most parts that are published together.
pub const PARTS_PER_BATCH_MAX: usize = 500;
/// Most bytes of one delta of a part.
pub const DELTA_BYTES_MAX: usize = 256 * 1_024;
/// Most bytes of all deltas of the parts that are published together.
pub const BATCH_DELTA_BYTES_MAX: usize = 1_024 * 1_024;
/// Most bytes of what is said of a run's failure.
pub const RUN_ERROR_BYTES_MAX: usize = 4 * 1_024;
/// Most bytes of a body in the log of model servers' calls; a longer one is cut, and says so.
pub const LOGGED_BODY_BYTES_MAX: usize = 64 * 1_024;
/// Most days for which a logged call is kept.
pub const LOG_DAYS_MAX: u32 = 90;
/// For how many days a logged call is kept where nothing is said.
pub const LOG_DAYS_DEFAULT: u32 = 14;
/// How many of a conversation's latest commits its head names.
pub const RECENT_COMMITS_MAX: usize = 8;
/// Most conversations that may stand behind a fork, one behind the other.
pub const FORK_DEPTH_MAX: u32 = 64;
/// Deepest nesting of a JSON document.
pub const JSON_DEPTH_MAX: usize = 128;
