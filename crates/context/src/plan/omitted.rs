//! The outcomes of what a plan omits, besides those that stages return.

use domain::Version;

use super::fit::FirstTurn;
use crate::outcome::{Effect, Outcome};
use crate::report::{LeftOut, Reason};
use crate::stages::redact::Redactions;
use crate::stages::select::Selected;
use crate::unit::Unit;

/// Why older turns are omitted, and how many tokens they have.
pub(super) fn left_out(selected: &Selected, first_turn: &FirstTurn) -> LeftOut {
    let by_budget = selected.measure.refused.is_some() || !first_turn.fits_all;
    LeftOut {
        before: first_turn.version,
        tokens: first_turn.before,
        reason: if by_budget { Reason::Budget } else { Reason::Bound },
    }
}

/// The events up to the summary's end that are included, ascending.
pub(super) fn carried(units: &[Unit], summarised_through: Version) -> Vec<Outcome> {
    let early = units.iter().take_while(|unit| unit.version <= summarised_through);
    let mut carried: Vec<Outcome> = early
        .flat_map(|unit| {
            let versions = unit.versions().filter(|version| *version <= summarised_through);
            versions.map(|version| Outcome::of(unit.version, version, Effect::Carried))
        })
        .collect();
    carried.sort_unstable_by_key(|outcome| outcome.first);
    carried
}

/// The versions before the first turn: what became instructions, what the summary covers, and what has no room.
pub(super) fn before_the_turns(
    own_through: Version,
    summarised_through: Version,
    left_out: Option<LeftOut>,
) -> impl Iterator<Item = Outcome> {
    let first = Version::ZERO.next();
    let own = Outcome::of_range(first, own_through, Effect::MovedToInstructions);
    let summarised = Outcome::of_range(first, summarised_through, Effect::Summarised);
    let left_out = left_out.and_then(|left_out| {
        let last = Version(left_out.before.0.saturating_sub(1));
        let after = summarised_through.max(own_through).next();
        // A turn from before the summary's end is included: what is omitted is older.
        let first = if last < after { first } else { after };
        Outcome::of_range(first, last, left_out.reason.effect())
    });
    [own, summarised, left_out].into_iter().flatten()
}

/// Results after the first turn whose calls are not included: the call was omitted, or there is none.
pub(super) fn left_behind(selected: &Selected, left_out: Option<LeftOut>) -> impl Iterator<Item = Outcome> {
    let omitted = left_out.into_iter().flat_map(|left_out| {
        let omitted = selected.omitted.iter().copied().filter(move |version| *version >= left_out.before);
        omitted.map(move |version| (version, left_out.reason.effect()))
    });
    let orphans = selected.orphans.iter().map(|version| (*version, Effect::Orphaned));
    omitted.chain(orphans).map(|(version, effect)| Outcome::of(version, version, effect))
}

/// What redaction changed, event by event.
pub(super) fn redacted(redactions: &Redactions) -> impl Iterator<Item = Outcome> + '_ {
    let replaced = redactions.replaced().iter().map(|version| (*version, Effect::Redacted));
    let dropped = redactions.dropped().iter().map(|dropped| (dropped.version, Effect::PartDropped(dropped.what)));
    replaced.chain(dropped).map(|(version, effect)| Outcome::of(version, version, effect))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ranges of versions before the first turn, for instructions and a summary through these versions.
    #[track_caller]
    fn check(own: u64, summarised: u64, before: Option<u64>, expected: &[(u64, u64, Effect)]) {
        let reason = Reason::Budget;
        let left_out = before.map(|before| LeftOut { before: Version(before), tokens: 0, reason });
        let outcomes = before_the_turns(Version(own), Version(summarised), left_out);
        let ranges: Vec<_> = outcomes.map(|one| (one.first.0, one.last.0, one.effect)).collect();
        assert_eq!(ranges, expected, "{own} {summarised} {before:?}");
    }

    #[test]
    fn what_is_omitted_follows_what_instructions_and_summary_cover() {
        use Effect::{MovedToInstructions, OverBudget, Summarised};
        check(0, 0, None, &[]);
        check(2, 0, None, &[(1, 2, MovedToInstructions)]);
        check(0, 4, None, &[(1, 4, Summarised)]);
        check(2, 4, None, &[(1, 2, MovedToInstructions), (1, 4, Summarised)]);
        check(0, 0, Some(1), &[]);
        check(0, 0, Some(2), &[(1, 1, OverBudget)]);
        check(0, 0, Some(6), &[(1, 5, OverBudget)]);
        check(2, 0, Some(6), &[(1, 2, MovedToInstructions), (3, 5, OverBudget)]);
        check(0, 3, Some(6), &[(1, 3, Summarised), (4, 5, OverBudget)]);
        check(2, 3, Some(6), &[(1, 2, MovedToInstructions), (1, 3, Summarised), (4, 5, OverBudget)]);
        // One version is omitted after the summary.
        check(0, 4, Some(6), &[(1, 4, Summarised), (5, 5, OverBudget)]);
        // A turn from before the summary's end is included.
        check(0, 5, Some(6), &[(1, 5, Summarised), (1, 5, OverBudget)]);
        check(0, 5, Some(3), &[(1, 5, Summarised), (1, 2, OverBudget)]);
        check(0, 5, Some(0), &[(1, 5, Summarised)]);
    }
}
