//! Merges adjacent deltas into fewer, larger parts. The fold of the run is unchanged.

use domain::RunPartKind;
use domain::bounds::DELTA_BYTES_MAX;

use crate::step::DeltaKind;

/// Buffers at most one delta.
#[derive(Debug, Default)]
pub struct Coalescer {
    buffered: Option<RunPartKind>,
}

impl Coalescer {
    /// Adds the next piece. Returns the pieces that are ready, in order: at most two.
    pub fn push(&mut self, kind: RunPartKind) -> Vec<RunPartKind> {
        let (merged, ready) = match self.buffered.take() {
            Some(buffered) => merge(buffered, kind),
            None => (kind, None),
        };
        if is_delta(&merged) {
            self.buffered = Some(merged);
            return ready.into_iter().collect();
        }
        ready.into_iter().chain([merged]).collect()
    }

    /// Returns the buffered delta. Call it whenever parts are published.
    pub fn flush(&mut self) -> Option<RunPartKind> {
        self.buffered.take()
    }
}

fn is_delta(kind: &RunPartKind) -> bool {
    DeltaKind::from_part(kind).is_some() || matches!(kind, RunPartKind::CallInput { .. })
}

/// The merged delta; or, if they cannot be merged, the second and the first.
fn merge(mut first: RunPartKind, second: RunPartKind) -> (RunPartKind, Option<RunPartKind>) {
    let joined = match (&mut first, &second) {
        (RunPartKind::TextDelta(before), RunPartKind::TextDelta(after))
        | (RunPartKind::ThinkingDelta(before), RunPartKind::ThinkingDelta(after))
        | (RunPartKind::RefusalDelta(before), RunPartKind::RefusalDelta(after)) => join(before, after),
        (
            RunPartKind::CallInput { index, fragment: before },
            RunPartKind::CallInput { index: same, fragment: after },
        ) if index == same => join(before, after),
        _ => false,
    };
    if joined { (first, None) } else { (second, Some(first)) }
}

/// Appends `after` if the result is within the bound. Returns whether it was appended.
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
        RunPartKind::CallInput { index, fragment: fragment.to_owned() }
    }

    fn check(given: Vec<RunPartKind>, expected: &[RunPartKind]) {
        let mut coalescer = Coalescer::default();
        let mut parts: Vec<RunPartKind> = given.into_iter().flat_map(|kind| coalescer.push(kind)).collect();
        parts.extend(coalescer.flush());
        assert_eq!(parts, expected);
        assert_eq!(coalescer.flush(), None);
    }

    #[test]
    fn adjacent_deltas_of_a_kind_are_merged_up_to_the_bound() {
        check(vec![], &[]);
        check(vec![text(1), text(2)], &[text(3)]);
        let max = text(DELTA_BYTES_MAX);
        check(vec![text(DELTA_BYTES_MAX - 1), text(1)], std::slice::from_ref(&max));
        let thought = RunPartKind::ThinkingDelta("a".to_owned());
        for unmerged in
            [vec![max, text(1)], vec![text(1), thought, text(1)], vec![text(1), RunPartKind::KeptAlive, text(1)]]
        {
            check(unmerged.clone(), &unmerged);
        }
        check(vec![input(0, "{"), input(0, "}"), input(1, "{}")], &[input(0, "{}"), input(1, "{}")]);
    }
}
