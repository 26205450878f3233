//! How far a replica lags behind the primary. Pure.
//!
//! No clock of another machine is used: a replica that has replayed the position that the primary's log had at a time contains
//! everything that readers of the primary saw at that time.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::Fallback;

/// Maximum number of positions that are remembered. With one each 100 ms, they are those of a minute.
const POSITIONS_MAX: usize = 600;
/// Size of a page of the log, in bytes.
const PAGE_BYTES: u64 = 8_192;
/// Size of the header of a page, in bytes. No record ends there. (The first page of a file has another one, where a record of an
/// ordinary page can end; after it a replica seems to lag until the next record.)
const HEADER_BYTES: u64 = 24;

/// A position in the write-ahead log (a log sequence number).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LogPosition(u64);

impl LogPosition {
    /// The end of the last record before a position at which the next one will begin. After a full page that is past the header
    /// of a page that does not exist yet; a replica reports the end of the full page.
    pub(super) fn before_next_record(bytes: u64) -> Self {
        if bytes % PAGE_BYTES == HEADER_BYTES {
            return Self(bytes - HEADER_BYTES);
        }
        Self(bytes)
    }

    /// The end of a replayed record.
    pub(super) fn after_record(bytes: u64) -> Self {
        Self(bytes)
    }
}

/// Positions of the primary's log, each with a time before it was read; in order.
#[derive(Debug, Default)]
pub(super) struct PrimaryLog(VecDeque<(Instant, LogPosition)>);

impl PrimaryLog {
    /// Adds a position. The oldest one goes beyond [`POSITIONS_MAX`]; all go if the log is another one, after a failover.
    pub(super) fn push(&mut self, at: Instant, position: LogPosition) {
        if self.0.back().is_some_and(|(_, last)| position < *last) {
            self.0.clear();
        }
        if self.0.len() >= POSITIONS_MAX {
            self.0.pop_front();
        }
        self.0.push_back((at, position));
    }

    /// The last known time whose rows a replica contains that has replayed up to a position; `None`: there is none.
    pub(super) fn complete_until(&self, replayed: LogPosition) -> Option<Instant> {
        let count = self.0.partition_point(|(_, position)| *position <= replayed);
        let index = count.checked_sub(1)?;
        self.0.get(index).map(|(at, _)| *at)
    }
}

/// What is known of a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Health {
    /// Incremented when a connection is lost: a replica that restarts can answer from earlier rows than before.
    pub(super) generation: u64,
    /// Whether it answered the last measurement, and no connection was lost since.
    pub(super) is_reachable: bool,
    /// It contains the rows that the primary had at this time; `None`: unknown.
    pub(super) complete_until: Option<Instant>,
}

impl Health {
    /// Checks that the replica answers, and contains the rows of at most `lag_max` ago.
    pub(super) fn check(&self, now: Instant, lag_max: Duration) -> Result<(), Fallback> {
        if !self.is_reachable {
            return Err(Fallback::Unreachable);
        }
        let until = self.complete_until.ok_or(Fallback::Lagging)?;
        if now.saturating_duration_since(until) > lag_max {
            return Err(Fallback::Lagging);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAG_MAX: Duration = Duration::from_millis(500);

    fn replayed(bytes: u64) -> LogPosition {
        LogPosition::after_record(bytes)
    }

    #[test]
    fn the_header_of_the_next_page_is_not_awaited() {
        for (bytes, expected) in [(0, 0), (100, 100), (8_192, 8_192), (8_192 + 24, 8_192), (8_192 + 40, 8_192 + 40)] {
            let position = LogPosition::before_next_record(bytes);
            assert_eq!(position, LogPosition(expected), "{bytes}");
        }
    }

    #[test]
    fn a_replica_is_complete_until_the_last_position_that_it_has_replayed() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut log = PrimaryLog::default();
        assert_eq!(log.complete_until(replayed(9)), None);
        for (ms, bytes) in [(0, 10), (100, 10), (200, 20)] {
            log.push(at(ms), replayed(bytes));
        }
        for (bytes, expected) in
            [(9, None), (10, Some(at(100))), (19, Some(at(100))), (20, Some(at(200))), (99, Some(at(200)))]
        {
            assert_eq!(log.complete_until(replayed(bytes)), expected, "{bytes}");
        }
        // Another primary.
        log.push(at(300), replayed(15));
        assert_eq!(log.complete_until(replayed(14)), None);
        assert_eq!(log.complete_until(replayed(15)), Some(at(300)));
    }

    #[test]
    fn the_number_of_positions_is_bounded() {
        let (start, mut log) = (Instant::now(), PrimaryLog::default());
        for bytes in (0..).take(POSITIONS_MAX + 1) {
            log.push(start, replayed(bytes));
        }
        assert_eq!(log.0.len(), POSITIONS_MAX);
        assert_eq!(log.complete_until(replayed(0)), None);
        assert_eq!(log.complete_until(replayed(1)), Some(start));
    }

    #[test]
    fn a_replica_is_read_up_to_the_maximum_lag() {
        let until = Instant::now();
        let check = |health: Health, lag, expected| {
            assert_eq!(health.check(until + lag, LAG_MAX), expected, "{health:?}");
        };
        let health = Health { generation: 0, is_reachable: true, complete_until: Some(until) };
        let tick = Duration::from_millis(1);
        check(health, LAG_MAX, Ok(()));
        check(health, LAG_MAX + tick, Err(Fallback::Lagging));
        let unknown = Health { complete_until: None, ..health };
        check(unknown, tick, Err(Fallback::Lagging));
        check(Health::default(), tick, Err(Fallback::Unreachable));
    }
}
