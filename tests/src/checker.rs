//! Checks the state after faults with code that is independent of the product.
//!
//! Input: the calls with their answers ([`Call`]), the record ([`RecordContents`]), the tables of the read model
//! ([`Rows`]), and the answers to readers ([`Reading`]). Output: a [`Finding`] for each difference. The fold is
//! computed twice: by the domain's code, and by the simple code of [`model`], which shares nothing with it.
//!
//! Only [`RecordContents::read`] and [`Rows::read`] do I/O.

mod answers;
mod calls;
mod commits;
mod erasure;
mod expected_rows;
mod finding;
pub mod model;
mod order;
mod readings;
mod record;
mod report;
mod row;
mod rows;
mod tools;

#[cfg(test)]
mod tests;

pub use answers::check as check_answers;
pub use calls::{Answer, Call, Expectation, FreshRead, Outcome, Refusal, StreamPlace};
pub use commits::check as check_commits;
pub use finding::{Finding, Kind, Place};
pub use order::{check as check_order, check_fresh_reads};
pub use readings::{Reading, check as check_readings, check_equal};
pub use record::{RecordContents, RecordedCommit};
pub use report::Report;
pub use row::Row;
pub use rows::{Rows, check as check_rows, query};

/// Checks calls and record together. Rows and readings have separate checks, because they may lag.
#[must_use]
pub fn check_calls(calls: &[Call], recorded: &RecordContents) -> Vec<Finding> {
    let mut findings = check_commits(recorded);
    findings.extend(check_answers(calls, recorded));
    findings.extend(check_order(calls, recorded));
    findings
}
