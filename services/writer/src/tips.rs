//! The last published parts of runs, as this writer knows them. With them, publishing the next batch needs no read.
//!
//! They are only a cache: the stream of parts checks every batch.

use std::time::{Duration, Instant};

use domain::{ConversationKey, RunId, RunPart, RunPartKind, Sequence};
use quick_cache::sync::Cache;

/// Maximum number of cached tips, about 200 bytes each. A batch of another run needs two more reads.
pub(crate) const TIPS_CACHED_MAX: usize = 65_536;
/// Time for which the leader's answer that a run is active is cached. For this time, a writer may accept parts of a run that
/// was stopped or finished through another writer.
pub(crate) const ACTIVE_CACHE_TTL: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct RunKey {
    pub(crate) conversation: ConversationKey,
    pub(crate) run: RunId,
}

/// The last batch of parts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tip {
    /// The sequence of the batch; 0 if there is none.
    pub(crate) sequence: Sequence,
    pub(crate) last_number: u64,
    /// Whether that part ends the run.
    pub(crate) is_end: bool,
}

impl Tip {
    /// Before the first batch.
    pub(crate) const NONE: Self = Self { sequence: Sequence(0), last_number: 0, is_end: false };

    pub(crate) fn after(parts: &[RunPart], sequence: Sequence) -> Self {
        let last = parts.last();
        Self {
            sequence,
            last_number: last.map_or(0, |part| part.number),
            is_end: last.is_some_and(|part| matches!(part.kind, RunPartKind::RunEnded(_))),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownTip {
    pub(crate) tip: Tip,
    /// When the leader of the record last answered that the run is active.
    pub(crate) active_at: Instant,
}

impl KnownTip {
    /// Whether the answer that the run is active is still valid.
    pub(crate) fn is_fresh(&self) -> bool {
        self.active_at.elapsed() < ACTIVE_CACHE_TTL
    }
}

/// The tips of runs whose parts this writer has published; at most [`TIPS_CACHED_MAX`].
pub(crate) type Tips = Cache<RunKey, KnownTip>;

#[cfg(test)]
mod tests {
    use domain::{RunEnd, RunOutcome};

    use super::*;

    #[test]
    fn a_tip_is_the_last_part_of_its_batch() {
        let text = |number| RunPart { number, kind: RunPartKind::TextDelta("a".to_owned()) };
        let end = |number| {
            let end = RunEnd { outcome: RunOutcome::Completed, error: None };
            RunPart { number, kind: RunPartKind::RunEnded(end) }
        };
        let check = |parts: &[RunPart], last_number: u64, is_end: bool| {
            let tip = Tip { sequence: Sequence(5), last_number, is_end };
            assert_eq!(Tip::after(parts, Sequence(5)), tip, "{parts:?}");
        };
        check(&[], 0, false);
        check(&[text(1), text(2)], 2, false);
        check(&[text(1), end(2)], 2, true);
    }

    #[test]
    fn the_answer_that_a_run_is_active_expires() {
        let is_fresh = |age: Duration| {
            let active_at = Instant::now().checked_sub(age).unwrap();
            KnownTip { tip: Tip::NONE, active_at }.is_fresh()
        };
        assert!(is_fresh(Duration::ZERO));
        assert!(!is_fresh(Duration::from_millis(500)));
    }
}
