//! The last published parts of runs, as this writer knows them. With them, publishing the next batch needs no read.
//!
//! They are only a cache: the stream of parts checks every batch.

use std::time::{Duration, Instant};

use domain::{ConversationKey, RunId, RunPart, RunPartKind, Sequence};
use quick_cache::sync::Cache;

/// Maximum number of cached tips, about 200 bytes each. A batch of another run needs two more reads.
pub const TIPS_CACHED_MAX: usize = 65_536;
/// Time for which the leader's answer that a run is active is cached. For this time, a writer may accept parts of a run that
/// was stopped or finished through another writer.
pub const ACTIVE_CACHE_TTL: Duration = Duration::from_millis(500);

/// A run of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunKey {
    /// The conversation.
    pub conversation: ConversationKey,
    /// The run.
    pub run: RunId,
}

/// The last batch of parts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tip {
    /// The sequence of the batch; 0 if there is none.
    pub sequence: Sequence,
    /// The number of its last part.
    pub last_number: u64,
    /// Whether that part ends the run.
    pub is_end: bool,
}

impl Tip {
    /// Before the first batch.
    pub const NONE: Self = Self {
        sequence: Sequence(0),
        last_number: 0,
        is_end: false,
    };

    /// The tip after a batch.
    #[must_use]
    pub fn after(parts: &[RunPart], sequence: Sequence) -> Self {
        let last = parts.last();
        Self {
            sequence,
            last_number: last.map_or(0, |part| part.number),
            is_end: last.is_some_and(|part| matches!(part.kind, RunPartKind::RunEnded(_))),
        }
    }
}

/// A cached tip.
#[derive(Debug, Clone, Copy)]
pub struct KnownTip {
    /// The tip.
    pub tip: Tip,
    /// When the leader of the record last answered that the run is active.
    pub active_at: Instant,
}

impl KnownTip {
    /// Whether the answer that the run is active is still valid.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.active_at.elapsed() < ACTIVE_CACHE_TTL
    }
}

/// The tips of runs whose parts this writer has published; at most [`TIPS_CACHED_MAX`].
#[derive(Debug)]
pub struct Tips(Cache<RunKey, KnownTip>);

impl Default for Tips {
    fn default() -> Self {
        Self(Cache::new(TIPS_CACHED_MAX))
    }
}

impl Tips {
    /// The tip of a run, if it is cached.
    #[must_use]
    pub fn get(&self, run: &RunKey) -> Option<KnownTip> {
        self.0.get(run)
    }

    /// Caches the tip after a batch of this writer.
    pub fn keep(&self, run: RunKey, known: KnownTip) {
        self.0.insert(run, known);
    }
}
