//! Changes that the writer rejects.

use axum::http::StatusCode;
use domain::FieldPath;
use runtime::http::HttpProblem;
use wire::status::{Problem, Reason};

use crate::person::sign_in_required;

/// What the person can correct in the form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rejection {
    /// The status of the page.
    pub(super) status: StatusCode,
    /// The path of the wrong field, as the rpc has it.
    pub(super) field: FieldPath,
    /// What is wrong, and how to correct it.
    pub(super) detail: String,
}

/// The rejection of a field, for the form's page.
///
/// # Errors
/// The session has ended, or the writer does not answer: the form cannot correct it.
pub(super) fn rejection(problem: impl Into<Problem>) -> Result<Rejection, HttpProblem> {
    let problem = problem.into();
    let field = problem.field().cloned();
    let problem = failure(problem);
    match field {
        Some(field) => Ok(Rejection { status: problem.status, field, detail: problem.detail }),
        None => Err(problem),
    }
}

/// The problem of a call that no form caused.
pub(super) fn failure(problem: impl Into<Problem>) -> HttpProblem {
    let problem = problem.into();
    if problem.reason() == Reason::Unauthenticated { sign_in_required() } else { problem.into() }
}
