//! Commands to the writer: for frontends and administrators with the gateway's own token, for back ends with theirs.

mod field_names;
mod member_names;

pub(in crate::http) use field_names::with_field;
pub(in crate::http) use member_names::with_member_names;

use std::time::Duration;

use axum::http::StatusCode;
use runtime::http::HttpProblem;
use tonic::{Code, Response, Status};
use wire::proto::write::v1::CommitResult;
use wire::proto::write::v1::write_service_client::WriteServiceClient;

use crate::http::positions;
use conversations::request::Call;
use conversations::writer::{WriterClient, WriterService};

/// The longest wait for the writer: shorter than the timeout of a request, so that the caller gets the result.
pub const COMMAND_MAX: Duration = Duration::from_secs(8);

/// A client of the writer. The gateway's own token has the scopes append and read, for any tenant: handlers authorize the
/// caller first. Under a caller's token, the writer authorizes. Clones share one connection.
#[derive(Debug, Clone)]
pub struct Commands(WriterClient);

impl Commands {
    /// Commands through this client.
    #[must_use]
    pub fn new(writer: WriterClient) -> Self {
        Self(writer)
    }

    /// The client of the writer.
    #[must_use]
    pub fn writer(&self) -> &WriterClient {
        &self.0
    }

    /// The write service. `result` converts its answers.
    #[must_use]
    pub fn write(&self) -> WriteServiceClient<WriterService> {
        self.0.write(COMMAND_MAX)
    }

    /// The write service under a caller's token. `result_for_caller` converts its answers.
    #[must_use]
    pub fn write_for(&self, caller: &Call) -> WriteServiceClient<WriterService> {
        self.0.write_for(caller)
    }
}

/// The result of a command under the gateway's token; `result_of` takes it from the writer's answer. Later reads of the request include the commit.
///
/// # Errors
/// The writer's error, with fields named as HTTP callers know them, or 503 if the writer does not answer within
/// [`COMMAND_MAX`].
pub(in crate::http) fn result<T>(
    answer: Result<Response<T>, Status>,
    result_of: impl FnOnce(T) -> Option<CommitResult>,
) -> Result<CommitResult, HttpProblem> {
    let answer = answer.map_err(|status| problem_from_status(&status))?;
    Ok(recorded(result_of(answer.into_inner())))
}

/// As `result`, for a command under the caller's token: the caller learns what the token lacks.
///
/// # Errors
/// As `result`.
pub(in crate::http) fn result_for_caller<T>(
    answer: Result<Response<T>, Status>,
    result_of: impl FnOnce(T) -> Option<CommitResult>,
) -> Result<CommitResult, HttpProblem> {
    let answer = answer.map_err(|status| problem_for_caller(&status))?;
    Ok(recorded(result_of(answer.into_inner())))
}

/// The problem of a command under the caller's token.
pub(in crate::http) fn problem_for_caller(status: &Status) -> HttpProblem {
    field_names::with_callers_field(HttpProblem::from(status))
}

fn recorded(result: Option<CommitResult>) -> CommitResult {
    let result = result.unwrap_or_default();
    positions::record_write(&result.position_token);
    result
}

/// Errors about the gateway's own token are not passed on to callers.
pub(in crate::http) fn problem_from_status(status: &Status) -> HttpProblem {
    if matches!(status.code(), Code::Unauthenticated | Code::PermissionDenied) {
        tracing::error!(code = ?status.code(), "the writer rejects the gateway's own token: set `writer_token`");
        let detail = "the gateway cannot reach the writer: try again later";
        return HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, "WRITER_UNAVAILABLE", detail)
            .retry_after(conversations::problem::RETRY_AFTER);
    }
    field_names::with_callers_field(HttpProblem::from(status))
}
