//! The last answer of a server with its time.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use domain::Timestamp;
use tokio::time::Instant;

/// Maximum age of an answer. Then a server is asked again.
const ANSWER_AGE_MAX: Duration = Duration::from_secs(10);

/// The time of a server, within the bounds that the way of its answer leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerTime {
    /// It is not earlier: the answer took no time.
    pub earliest: Timestamp,
    /// It is not later: the request took no time.
    pub latest: Timestamp,
}

impl ServerTime {
    /// A time by another clock, or the nearer bound if that clock is wrong.
    #[must_use]
    pub fn bound(self, time: Timestamp) -> Timestamp {
        time.max(self.earliest).min(self.latest)
    }
}

/// The answer of a server with its time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) time: Timestamp,
    pub(crate) asked_at: Instant,
    pub(crate) answered_at: Instant,
}

/// The last answer. A process has one from its start on.
#[derive(Debug)]
pub(crate) struct KnownTime(Mutex<Answer>);

impl Answer {
    pub(crate) fn time_at(self, now: Instant) -> ServerTime {
        ServerTime {
            earliest: self.time.after(now.saturating_duration_since(self.answered_at)),
            latest: self.time.after(now.saturating_duration_since(self.asked_at)),
        }
    }

    fn is_recent(self, now: Instant) -> bool {
        now.saturating_duration_since(self.answered_at) < ANSWER_AGE_MAX
    }
}

impl KnownTime {
    pub(crate) fn new(answer: Answer) -> Self {
        Self(Mutex::new(answer))
    }

    /// The time by the last answer; `None`: it is too old.
    pub(crate) fn recent(&self, now: Instant) -> Option<ServerTime> {
        let last = self.last();
        last.is_recent(now).then(|| last.time_at(now))
    }

    /// The time by the last answer, however old.
    pub(crate) fn at(&self, now: Instant) -> ServerTime {
        self.last().time_at(now)
    }

    pub(crate) fn keep(&self, answer: Answer) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.asked_at <= answer.asked_at {
            *last = answer;
        }
    }

    fn last(&self) -> Answer {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn answer(asked_at: Instant) -> Answer {
        Answer { time: Timestamp(5_000_000_000), asked_at, answered_at: asked_at + SECOND }
    }

    #[test]
    fn the_way_of_an_answer_bounds_the_time() {
        let asked_at = Instant::now();
        for (since_answer, earliest_s, latest_s) in [(0, 5, 6), (1, 6, 7), (9, 14, 15)] {
            let time = answer(asked_at).time_at(asked_at + SECOND + SECOND * since_answer);
            let seconds = |time: Timestamp| time.0 / 1_000_000_000;
            assert_eq!((seconds(time.earliest), seconds(time.latest)), (earliest_s, latest_s), "{since_answer}");
        }
    }

    #[test]
    fn another_clock_counts_within_the_bounds() {
        let time = ServerTime { earliest: Timestamp(5), latest: Timestamp(7) };
        for (clock, expected) in [(i64::MIN, 5), (4, 5), (5, 5), (6, 6), (7, 7), (8, 7), (i64::MAX, 7)] {
            assert_eq!(time.bound(Timestamp(clock)), Timestamp(expected), "{clock}");
        }
    }

    #[test]
    fn an_answer_is_recent_for_ten_seconds() {
        let asked_at = Instant::now();
        let known = KnownTime::new(answer(asked_at));
        let answered_at = asked_at + SECOND;
        let nearly = Duration::from_nanos(9_999_999_999);
        for (since, is_recent) in [(Duration::ZERO, true), (nearly, true), (ANSWER_AGE_MAX, false)] {
            let now = answered_at + since;
            assert_eq!(known.recent(now), is_recent.then(|| answer(asked_at).time_at(now)), "{since:?}");
            assert_eq!(known.at(now), answer(asked_at).time_at(now), "{since:?}");
        }
    }

    #[test]
    fn a_late_answer_does_not_replace_a_newer_one() {
        let (asked_at, late) = (Instant::now(), Instant::now() + SECOND * 2);
        let known = KnownTime::new(answer(asked_at));
        known.keep(answer(asked_at + SECOND));
        known.keep(Answer { time: Timestamp(0), ..answer(asked_at) });
        assert_eq!(known.at(late), answer(asked_at + SECOND).time_at(late));
    }
}
