//! Merges neighbouring deltas, so that fewer and larger parts travel: what a run comes to stays the same.

use domain::RunPartKind;
use domain::bounds::DELTA_BYTES_MAX;

use crate::step::WordsKind;

/// Holds back at most one delta until something else follows it.
#[derive(Debug, Default)]
pub struct Coalescer {
    held: Option<RunPartKind>,
}

impl Coalescer {
    /// Takes the next piece; gives the ones that are ready, in order: at most two.
    pub fn push(&mut self, kind: RunPartKind) -> Vec<RunPartKind> {
        let (merged, ready) = match self.held.take() {
            Some(held) => merge(held, kind),
            None => (kind, None),
        };
        if is_delta(&merged) {
            self.held = Some(merged);
            return ready.into_iter().collect();
        }
        ready.into_iter().chain([merged]).collect()
    }

    /// Gives what is held back: call it when parts are published, so that nothing waits longer than that.
    pub fn flush(&mut self) -> Option<RunPartKind> {
        self.held.take()
    }
}

fn is_delta(kind: &RunPartKind) -> bool {
    WordsKind::of(kind).is_some() || matches!(kind, RunPartKind::CallInput { .. })
}

/// The two as one, or the second and the first apart.
fn merge(mut first: RunPartKind, second: RunPartKind) -> (RunPartKind, Option<RunPartKind>) {
    let joined = match (&mut first, &second) {
        (RunPartKind::TextDelta(before), RunPartKind::TextDelta(after))
        | (RunPartKind::ThinkingDelta(before), RunPartKind::ThinkingDelta(after))
        | (RunPartKind::RefusalDelta(before), RunPartKind::RefusalDelta(after)) => {
            join(before, after)
        }
        (
            RunPartKind::CallInput {
                index,
                fragment: before,
            },
            RunPartKind::CallInput {
                index: same,
                fragment: after,
            },
        ) if index == same => join(before, after),
        _ => false,
    };
    if joined {
        (first, None)
    } else {
        (second, Some(first))
    }
}

/// Whether there was room.
fn join(before: &mut String, after: &str) -> bool {
    let fits = before.len().saturating_add(after.len()) <= DELTA_BYTES_MAX;
    if fits {
        before.push_str(after);
    }
    fits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: usize) -> RunPartKind {
        RunPartKind::TextDelta("x".repeat(bytes))
    }

    fn input(index: u32, fragment: &str) -> RunPartKind {
        RunPartKind::CallInput {
            index,
            fragment: fragment.to_owned(),
        }
    }

    fn check(given: Vec<RunPartKind>, expected: &[RunPartKind]) {
        let mut coalescer = Coalescer::default();
        let mut parts: Vec<RunPartKind> = given
            .into_iter()
            .flat_map(|kind| coalescer.push(kind))
            .collect();
        parts.extend(coalescer.flush());
        assert_eq!(parts, expected);
        assert_eq!(coalescer.flush(), None);
    }

    #[test]
    fn neighbours_of_a_kind_become_one_up_to_the_bound() {
        let thought = RunPartKind::ThinkingDelta("a".to_owned());
        let beat = RunPartKind::KeptAlive;
        check(vec![], &[]);
        check(vec![text(1), text(2)], &[text(3)]);
        check(
            vec![text(DELTA_BYTES_MAX - 1), text(1)],
            &[text(DELTA_BYTES_MAX)],
        );
        check(
            vec![text(DELTA_BYTES_MAX), text(1)],
            &[text(DELTA_BYTES_MAX), text(1)],
        );
        check(
            vec![text(1), thought.clone(), text(1)],
            &[text(1), thought, text(1)],
        );
        check(
            vec![text(1), beat.clone(), text(1)],
            &[text(1), beat, text(1)],
        );
        check(
            vec![input(0, "{"), input(0, "}"), input(1, "{}")],
            &[input(0, "{}"), input(1, "{}")],
        );
    }
}
