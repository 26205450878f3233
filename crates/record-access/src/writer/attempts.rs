//! Decides to which writer a call is sent, and when it is sent again. Pure.
//!
//! A call begins with the first writer. If that is silent for [`HEDGE_AFTER`], a repeatable call is also sent to the next one, and the
//! first answer counts. An attempt that failed is replaced at once by one at the next writer; if the call may not be repeated,
//! only if no writer got it. After all writers have failed, a repeatable call whose connection broke is sent again for [`REPEAT_MAX`].

use std::time::Duration;

use tokio::time::Instant;

/// The time without an answer after which a repeatable call is also sent to another writer. A frozen writer costs this much.
pub(super) const HEDGE_AFTER: Duration = Duration::from_millis(500);
/// How long a call is sent again after its connection broke. A writer that restarts, or another one, answers within that time.
const REPEAT_MAX: Duration = Duration::from_secs(2);

/// Whether a call may be sent again although a writer may have carried it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// Also while a writer has it: the writers carry it out once, however often it is sent.
    WhileSilent,
    /// Only after an attempt has failed: two at the same time would do long work twice.
    AfterFailure,
    /// Never: a second call would be a second command.
    Never,
}

/// How an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// The writer did not get the call, or rejected it before it read it.
    NotSent,
    /// The writer answers that it cannot carry it out now. It may have begun.
    Unavailable,
    /// The connection broke before the answer.
    Lost,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Send the call to the writer of this index.
    Send(usize),
    /// Wait for an attempt to end, and at most until this time; `None`: attempts are in flight, and no time changes anything.
    Wait(Option<Instant>),
    /// The call has failed.
    End,
}

/// What is known of a writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    Untried,
    InFlight,
    Failed { again_at: Instant },
}

/// The attempts of one call.
#[derive(Debug)]
pub(super) struct Attempts {
    repeat: Repeat,
    /// In order of preference.
    writers: Vec<Writer>,
    /// The number of attempts.
    sent: usize,
    /// Since then, no attempt was sent and none failed. `None`: the last one failed.
    silent_since: Option<Instant>,
    may_be_done: bool,
    repeat_until: Option<Instant>,
}

impl Attempts {
    /// None yet, at so many writers.
    pub(super) fn new(repeat: Repeat, writers: usize) -> Self {
        Self {
            repeat,
            writers: vec![Writer::Untried; writers],
            sent: 0,
            silent_since: None,
            may_be_done: false,
            repeat_until: None,
        }
    }

    /// The next step.
    pub(super) fn next(&self, now: Instant) -> Step {
        let is_in_flight = self.in_flight().next().is_some();
        if is_in_flight && self.repeat != Repeat::WhileSilent {
            return Step::Wait(None);
        }
        let Some((writer, ready_at)) = self.candidate(now) else {
            return if is_in_flight { Step::Wait(None) } else { Step::End };
        };
        let hedge_at = self.silent_since.map(|since| since + HEDGE_AFTER);
        let at = hedge_at.map_or(ready_at, |hedge_at| hedge_at.max(ready_at));
        if at <= now { Step::Send(writer) } else { Step::Wait(Some(at)) }
    }

    /// The writer to send to, and the earliest time for it.
    fn candidate(&self, now: Instant) -> Option<(usize, Instant)> {
        if self.may_be_done && self.repeat == Repeat::Never {
            return None;
        }
        if let Some(untried) = self.writers.iter().position(|writer| *writer == Writer::Untried) {
            return Some((untried, now));
        }
        self.repeat_until.filter(|until| now < *until)?;
        let failed = self.writers.iter().enumerate().filter_map(|(index, writer)| match writer {
            Writer::Failed { again_at } => Some((index, *again_at)),
            Writer::Untried | Writer::InFlight => None,
        });
        failed.min_by_key(|(_, again_at)| *again_at)
    }

    /// The writers whose answer is awaited.
    pub(super) fn in_flight(&self) -> impl Iterator<Item = usize> {
        let writers = self.writers.iter().enumerate();
        writers.filter(|(_, writer)| **writer == Writer::InFlight).map(|(index, _)| index)
    }

    /// Whether the call was sent more than once.
    pub(super) fn is_repeated(&self) -> bool {
        self.sent > 1
    }

    /// The call is sent to a writer.
    pub(super) fn sent(&mut self, writer: usize, now: Instant) {
        self.sent += 1;
        self.silent_since = Some(now);
        self.set(writer, Writer::InFlight);
    }

    /// An attempt failed. The writer is not tried again for `pause`.
    pub(super) fn failed(&mut self, writer: usize, failure: Failure, now: Instant, pause: Duration) {
        self.silent_since = None;
        self.set(writer, Writer::Failed { again_at: now + pause });
        self.may_be_done |= failure != Failure::NotSent;
        if failure == Failure::Lost {
            self.repeat_until.get_or_insert(now + REPEAT_MAX);
        }
    }

    fn set(&mut self, writer: usize, to: Writer) {
        if let Some(writer) = self.writers.get_mut(writer) {
            *writer = to;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const PAUSE: Duration = Duration::from_millis(25);
    /// The longest time in which a connection to a frozen writer breaks.
    const BREAK_MAX_MS: u64 = 2_000;
    /// A frozen writer may cost a command at most this time.
    const FROZEN_COST_MAX: Duration = Duration::from_secs(2);

    /// What a simulated writer does with each call.
    #[derive(Debug, Clone, Copy)]
    enum Behaviour {
        Answers { after_ms: u64 },
        Fails { failure: Failure, after_ms: u64 },
    }

    /// The simulated call: its time to the answer or the end, and to whom it was sent, in order.
    #[derive(Debug)]
    struct Run {
        answered_after: Option<Duration>,
        took: Duration,
        sent: Vec<usize>,
        in_flight_max: usize,
        sent_when_may_be_done: bool,
    }

    /// Runs a call over writers in order of preference.
    fn run(repeat: Repeat, writers: &[Behaviour]) -> Run {
        let start = Instant::now();
        let mut attempts = Attempts::new(repeat, writers.len());
        let mut ends: Vec<(Instant, usize)> = Vec::new();
        let (mut now, mut sent, mut in_flight_max, mut may_be_done) = (start, Vec::new(), 0, false);
        let mut sent_when_may_be_done = false;
        loop {
            let until = match attempts.next(now) {
                Step::End => {
                    assert!(ends.is_empty(), "the end while {ends:?} are in flight");
                    let took = now - start;
                    return Run { answered_after: None, took, sent, in_flight_max, sent_when_may_be_done };
                }
                Step::Send(writer) => {
                    assert!(ends.iter().all(|(_, other)| *other != writer), "two calls at writer {writer}");
                    sent_when_may_be_done |= may_be_done || !ends.is_empty();
                    let (Behaviour::Answers { after_ms } | Behaviour::Fails { after_ms, .. }) = writers[writer];
                    ends.push((now + Duration::from_millis(after_ms), writer));
                    attempts.sent(writer, now);
                    sent.push(writer);
                    in_flight_max = in_flight_max.max(ends.len());
                    continue;
                }
                Step::Wait(until) => until,
            };
            ends.sort();
            let first = ends.first().copied().filter(|(at, _)| until.is_none_or(|until| *at <= until));
            let Some((at, writer)) = first else {
                now = until.expect("an attempt in flight, or a time");
                continue;
            };
            ends.remove(0);
            now = now.max(at);
            match writers[writer] {
                Behaviour::Answers { .. } => {
                    let took = now - start;
                    return Run { answered_after: Some(took), took, sent, in_flight_max, sent_when_may_be_done };
                }
                Behaviour::Fails { failure, .. } => {
                    may_be_done |= failure != Failure::NotSent;
                    attempts.failed(writer, failure, now, PAUSE);
                }
            }
        }
    }

    const HEALTHY: Behaviour = Behaviour::Answers { after_ms: 10 };
    const FROZEN: Behaviour = fails(Failure::Lost, BREAK_MAX_MS);
    const DEAD: Behaviour = fails(Failure::NotSent, 0);
    const KILLED: Behaviour = fails(Failure::Lost, 5);
    const DRAINS: Behaviour = fails(Failure::NotSent, 1);
    const NO_RECORD: Behaviour = fails(Failure::Unavailable, 100);

    const fn fails(failure: Failure, after_ms: u64) -> Behaviour {
        Behaviour::Fails { failure, after_ms }
    }

    #[track_caller]
    fn check(repeat: Repeat, writers: &[Behaviour], answered_after_ms: Option<u64>, expected_sent: &[usize]) {
        let run = run(repeat, writers);
        assert_eq!(run.answered_after, answered_after_ms.map(Duration::from_millis), "{run:?}");
        assert_eq!(run.sent, expected_sent, "{run:?}");
    }

    #[test]
    fn another_writer_gets_what_the_first_does_not_answer() {
        let (repeatable, long, once) = (Repeat::WhileSilent, Repeat::AfterFailure, Repeat::Never);
        let hedge_ms = u64::try_from(HEDGE_AFTER.as_millis()).unwrap();
        for repeat in [repeatable, long, once] {
            check(repeat, &[HEALTHY, HEALTHY], Some(10), &[0]);
            check(repeat, &[DEAD, HEALTHY], Some(10), &[0, 1]);
            check(repeat, &[DRAINS, HEALTHY], Some(11), &[0, 1]);
            check(repeat, &[DEAD, DRAINS], None, &[0, 1]);
            check(repeat, &[NO_RECORD], None, &[0]);
            check(repeat, &[], None, &[]);
        }
        check(repeatable, &[FROZEN, HEALTHY], Some(hedge_ms + 10), &[0, 1]);
        check(repeatable, &[FROZEN, FROZEN, HEALTHY], Some(2 * hedge_ms + 10), &[0, 1, 2]);
        check(repeatable, &[FROZEN, DEAD, HEALTHY], Some(hedge_ms + 10), &[0, 1, 2]);
        check(long, &[FROZEN, HEALTHY], Some(BREAK_MAX_MS + 10), &[0, 1]);
        for repeat in [repeatable, long] {
            check(repeat, &[KILLED, HEALTHY], Some(15), &[0, 1]);
            check(repeat, &[NO_RECORD, HEALTHY], Some(110), &[0, 1]);
        }
        check(once, &[FROZEN, HEALTHY], None, &[0]);
        check(once, &[KILLED, HEALTHY], None, &[0]);
        check(once, &[NO_RECORD, HEALTHY], None, &[0]);
    }

    #[test]
    fn a_broken_connection_is_repeated_for_a_bounded_time() {
        let run = run(Repeat::WhileSilent, &[KILLED]);
        assert!(run.answered_after.is_none() && run.sent.len() > 10, "{run:?}");
        assert!(run.took >= REPEAT_MAX && run.took <= REPEAT_MAX + PAUSE * 2, "{run:?}");
    }

    fn behaviour() -> impl Strategy<Value = Behaviour> {
        let failure = prop_oneof![Just(Failure::NotSent), Just(Failure::Unavailable), Just(Failure::Lost)];
        let failing = (failure, 0..BREAK_MAX_MS).prop_map(|(failure, after_ms)| fails(failure, after_ms));
        prop_oneof![failing, (0..BREAK_MAX_MS).prop_map(|after_ms| Behaviour::Answers { after_ms })]
    }

    proptest! {
        #[test]
        fn a_command_without_a_key_is_never_made_twice(writers in vec(behaviour(), 0..5)) {
            let once = run(Repeat::Never, &writers);
            prop_assert!(once.in_flight_max <= 1 && !once.sent_when_may_be_done, "{once:?}");
            let long = run(Repeat::AfterFailure, &writers);
            prop_assert!(long.in_flight_max <= 1, "{long:?}");
        }

        #[test]
        fn dead_and_frozen_writers_cost_a_bounded_time(
            mut writers in vec(behaviour(), 0..3),
            place in 0_usize..3,
            answer_ms in 0_u64..500,
        ) {
            writers.retain(|writer| matches!(writer, Behaviour::Fails { .. }));
            let place = place.min(writers.len());
            writers.insert(place, Behaviour::Answers { after_ms: answer_ms });
            let run = run(Repeat::WhileSilent, &writers);
            let answered = run.answered_after.expect("an answer");
            prop_assert!(answered <= HEDGE_AFTER * 2 + Duration::from_millis(answer_ms), "{run:?}");
            prop_assert!(answered < FROZEN_COST_MAX, "{run:?}");
        }

        #[test]
        fn every_call_ends(writers in vec(behaviour(), 0..5)) {
            let run = run(Repeat::WhileSilent, &writers);
            let attempt_max = Duration::from_millis(BREAK_MAX_MS);
            prop_assert!(run.took <= attempt_max * 2 + REPEAT_MAX + HEDGE_AFTER * 5, "{run:?}");
        }
    }
}
