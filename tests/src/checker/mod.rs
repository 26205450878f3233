//! Judges what a faulty world left behind, apart from the code that made it.
//!
//! In: what was tried and answered ([`Call`]), what the record holds ([`Recorded`]), what the read model's tables hold
//! ([`Rows`]) and what readers were told ([`Reading`]). Out: a [`Finding`] for each thing that does not fit. The fold is
//! made twice, by the domain's own code and by the simple one of [`model`], which shares none of it.
//!
//! Everything here is pure but [`Recorded::read`] and [`Rows::read`].

mod answers;
mod commits;
mod erased;
mod expected_rows;
mod finding;
pub mod model;
mod order;
mod readings;
mod recorded;
mod report;
mod row;
mod rows;
mod tools;
mod tried;

#[cfg(test)]
mod tests;

pub use answers::check as check_answers;
pub use commits::check as check_commits;
pub use finding::{Finding, Kind, Place};
pub use order::{check as check_order, check_seen};
pub use readings::{Reading, check as check_readings, check_alike};
pub use recorded::{Recorded, RecordedCommit};
pub use report::Report;
pub use row::Row;
pub use rows::{Rows, check as check_rows, query};
pub use tried::{Answer, Asked, Call, Outcome, Pipelined, Refusal, Seen};

/// Judges calls and record together: every check but that of rows and readings, which may lag.
#[must_use]
pub fn judge(calls: &[Call], recorded: &Recorded) -> Vec<Finding> {
    let mut findings = check_commits(recorded);
    findings.extend(check_answers(calls, recorded));
    findings.extend(check_order(calls, recorded));
    findings
}
