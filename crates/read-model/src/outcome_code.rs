//! The codes of outcomes of runs in rows.

use domain::RunOutcome;

/// The code in rows. It never changes.
pub(crate) fn outcome_code(outcome: RunOutcome) -> i16 {
    match outcome {
        RunOutcome::Completed => 1,
        RunOutcome::Stopped => 2,
        RunOutcome::Failed => 3,
        RunOutcome::Abandoned => 4,
    }
}

/// The outcome with this code.
pub(crate) fn outcome_of(code: i16) -> Option<RunOutcome> {
    let mut all = RunOutcome::ALL.into_iter();
    all.find(|outcome| outcome_code(*outcome) == code)
}
