//! Orders the writes of search and the erasures of conversations. The projection `search` reads the rows of conversations and may be
//! ahead of them or behind; with this lock no document outlives its conversation.

/// Shared by the transactions that write documents: an erasure waits until they have committed.
pub(super) const LOCK_SHARED: &str = "SELECT pg_advisory_xact_lock_shared(hashtextextended('hansard.search', 0))";
/// Exclusive to an erasure: transactions that write documents wait, and then see its tombstones.
pub(super) const LOCK_EXCLUSIVE: &str = "SELECT pg_advisory_xact_lock(hashtextextended('hansard.search', 0))";
