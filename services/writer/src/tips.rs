//! Where the parts of runs end, as far as this writer knows: what makes one more batch cost no read.
//!
//! Safety never depends on it: the stream of parts checks every batch.

use std::time::{Duration, Instant};

use domain::{ConversationKey, RunId, RunPart, RunPartKind, Sequence};
use quick_cache::sync::Cache;

/// Most runs whose tips are kept, about 200 bytes each; a batch of one beyond them costs two reads more.
pub const TIPS_CACHED_MAX: usize = 65_536;
/// For how long a run is believed to go on since the record's leader said so: how long a writer may take parts of a run
/// that was asked to stop, or finished, through another writer.
pub const BELIEVED_FOR: Duration = Duration::from_millis(500);

/// A run of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunKey {
    /// The conversation.
    pub conversation: ConversationKey,
    /// The run.
    pub run: RunId,
}

/// A batch of a run's parts that is followed by the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tip {
    /// Where the batch stands; 0: nowhere, the next one is the first.
    pub sequence: Sequence,
    /// The number of its last part.
    pub last_number: u64,
    /// Whether that part is the run's end.
    pub is_end: bool,
}

impl Tip {
    /// Before the first batch.
    pub const NONE: Self = Self {
        sequence: Sequence(0),
        last_number: 0,
        is_end: false,
    };

    /// The tip that a batch makes at a sequence.
    #[must_use]
    pub fn of(parts: &[RunPart], sequence: Sequence) -> Self {
        let last = parts.last();
        Self {
            sequence,
            last_number: last.map_or(0, |part| part.number),
            is_end: last.is_some_and(|part| matches!(part.kind, RunPartKind::RunEnded(_))),
        }
    }
}

/// A tip, and since when its run is known to go on.
#[derive(Debug, Clone, Copy)]
pub struct KnownTip {
    /// The tip.
    pub tip: Tip,
    /// When the record's leader last said that the run goes on.
    pub certain_at: Instant,
}

impl KnownTip {
    /// Whether the run is still believed to go on.
    #[must_use]
    pub fn is_believed(&self) -> bool {
        self.certain_at.elapsed() < BELIEVED_FOR
    }
}

/// The tips of the runs that this writer published parts of, at most [`TIPS_CACHED_MAX`].
#[derive(Debug)]
pub struct Tips(Cache<RunKey, KnownTip>);

impl Default for Tips {
    fn default() -> Self {
        Self(Cache::new(TIPS_CACHED_MAX))
    }
}

impl Tips {
    /// The tip of a run, where it is known.
    #[must_use]
    pub fn get(&self, run: &RunKey) -> Option<KnownTip> {
        self.0.get(run)
    }

    /// Keeps the tip after a batch of our own.
    pub fn keep(&self, run: RunKey, known: KnownTip) {
        self.0.insert(run, known);
    }
}
