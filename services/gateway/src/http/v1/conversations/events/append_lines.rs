//! Appends an event of each line of a body, in commits. Each commit is recorded whole or not at all.

use std::time::Duration;

use axum::http::StatusCode;
use history::Deadline;
use runtime::http::{HttpProblem, parse_json};
use serde::Serialize;
use tokio::time::{Instant, timeout_at};
use utoipa::ToSchema;
use wire::proto::event::v1 as event;
use wire::proto::write::v1 as write;
use wire::status::Problem;

use super::lines::{Line, Lines};
use crate::http::v1::new_events::new_event::NewEventBody;
use conversations::commands::{Issuer, key_text};
use conversations::commit_room::CommitRoom;
use conversations::request::Call;
use http_listener::idempotency::IdempotencyKey;
use http_listener::state::HttpState;
use runtime::http::field_names::with_member_names;

/// Maximum size of the lines of one commit.
pub const COMMIT_LINES_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The recorded lines.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppendedLinesBody {
    /// The conversation.
    conversation_id: String,
    /// The number of events.
    events: u64,
    /// The number of commits.
    commits: u64,
    /// How many of the commits an earlier attempt has recorded.
    replayed_commits: u64,
    /// The conversation's version after the last commit.
    version: u64,
    /// The position of the last commit, as in the header `x-position-token`.
    position_token: String,
}

/// Appends lines.
pub(super) struct Import<'a> {
    pub(super) state: &'a HttpState,
    /// The caller's token.
    pub(super) call: &'a Call,
    /// The conversation, and the version that it must have before the next commit.
    pub(super) target: write::CommandTarget,
    pub(super) key: IdempotencyKey,
    /// The end of the request.
    pub(super) ends_at: Instant,
    pub(super) recorded: AppendedLinesBody,
    /// The last line that was recorded.
    pub(super) last_line: u64,
}

/// The lines of the next commit.
struct Commit {
    events: Vec<event::Event>,
    /// The numbers of the lines of the events.
    lines: Vec<u64>,
    room: CommitRoom,
}

impl Default for Commit {
    fn default() -> Self {
        let room = CommitRoom::default().with_bytes(COMMIT_LINES_BYTES_MAX);
        Self { events: Vec::new(), lines: Vec::new(), room }
    }
}

impl Import<'_> {
    /// Appends the lines.
    ///
    /// # Errors
    /// A line or a commit is rejected, or the request takes too long. The problem names the line, and what was recorded
    /// before it.
    pub(super) async fn run(mut self, mut lines: Lines) -> Result<AppendedLinesBody, HttpProblem> {
        match self.append(&mut lines).await {
            Ok(()) => Ok(self.recorded),
            Err(problem) => Err(self.with_progress(problem)),
        }
    }

    async fn append(&mut self, lines: &mut Lines) -> Result<(), HttpProblem> {
        let mut commit = Commit::default();
        loop {
            let next = timeout_at(self.ends_at, lines.next()).await.map_err(|_| late(lines.current()))?;
            let Some(line) = next? else { break };
            if !commit.room.take(line.text.len()) {
                self.record(std::mem::take(&mut commit)).await?;
                // An empty commit takes every line.
                let _ = commit.room.take(line.text.len());
            }
            commit.push(&line)?;
        }
        if commit.events.is_empty() && self.recorded.commits == 0 {
            let detail = "is empty: send an event in each line";
            return Err(HttpProblem::of_field("NO_EVENTS", "body", detail));
        }
        if commit.events.is_empty() {
            return Ok(());
        }
        self.record(commit).await
    }

    async fn record(&mut self, commit: Commit) -> Result<(), HttpProblem> {
        let left = self.ends_at.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(late(commit.first_line()));
        }
        let number = self.recorded.commits + 1;
        let key = self.key.for_part(&format!("events/{number}"));
        let request = write::AppendEventsRequest {
            target: Some(write::CommandTarget { idempotency_key: key_text(key.0), ..self.target.clone() }),
            events: commit.events,
            ..write::AppendEventsRequest::default()
        };
        let bearer = self.call.bearer().unwrap_or_default().to_owned();
        let call = Call::new(bearer, Deadline::until(None).at_most(left));
        let appended = self.state.commands.send(Issuer::Service(&call), request).await;
        let result = appended.map_err(|problem| in_line(problem, &commit.lines))?;
        if self.target.expected_version.is_some() {
            self.target.expected_version = Some(result.version);
        }
        let recorded = &mut self.recorded;
        recorded.commits = number;
        recorded.replayed_commits += u64::from(result.replayed);
        recorded.events += u64::try_from(commit.lines.len()).unwrap_or(u64::MAX);
        recorded.version = result.version;
        recorded.conversation_id = result.conversation_id;
        recorded.position_token = result.position_token;
        self.last_line = commit.lines.last().copied().unwrap_or_default();
        Ok(())
    }

    fn with_progress(&self, problem: HttpProblem) -> HttpProblem {
        let recorded = &self.recorded;
        problem
            .with("recorded_lines", self.last_line.to_string())
            .with("recorded_events", recorded.events.to_string())
            .with("recorded_commits", recorded.commits.to_string())
            .with("version", recorded.version.to_string())
    }
}

impl Commit {
    fn push(&mut self, line: &Line) -> Result<(), HttpProblem> {
        let event = parse_json::<NewEventBody>(&line.text)
            .and_then(|event| event.into_proto().map_err(HttpProblem::from))
            .map_err(|problem| of_line(problem, line.number))?;
        self.events.push(event);
        self.lines.push(line.number);
        Ok(())
    }

    fn first_line(&self) -> u64 {
        self.lines.first().copied().unwrap_or_default()
    }
}

/// The time for the request is over before a line is recorded.
fn late(line: u64) -> HttpProblem {
    let detail = format!(
        "the time for the request was over in line {line}: send the lines after recorded_lines in another request"
    );
    HttpProblem::new(StatusCode::GATEWAY_TIMEOUT, "DEADLINE_EXCEEDED", detail).with("line", line.to_string())
}

/// The time for the commits of a request: the rest is for the answer.
pub(super) fn time_of(request_timeout_ms: u64) -> Duration {
    Duration::from_millis(request_timeout_ms / 5 * 4)
}

fn of_line(mut problem: HttpProblem, line: u64) -> HttpProblem {
    problem.detail = match &*problem.code {
        "JSON_MALFORMED" => format!("line {line} is not valid JSON: send an event in each line"),
        _ => format!("line {line}: {}", problem.detail),
    };
    problem.with("line", line.to_string())
}

/// The problem of a commit with these lines. The writer names an event by its index.
fn in_line(problem: Problem, lines: &[u64]) -> HttpProblem {
    let problem = with_member_names(problem);
    let named = problem.field().and_then(|field| {
        let (index, field) = field.entry_of("events")?;
        Some((*lines.get(index)?, field))
    });
    let Some((line, field)) = named else {
        let mut problem = HttpProblem::from(problem);
        let (first, last) = (lines.first(), lines.last());
        let (first, last) = (first.copied().unwrap_or(1), last.copied().unwrap_or(1));
        problem.detail = format!("lines {first} to {last}: {}", problem.detail);
        return problem.with("line", first.to_string());
    };
    of_line(problem.rename_field(|_| Some(field)).into(), line)
}

#[cfg(test)]
mod tests {
    use domain::{Violation, ViolationReason};

    use super::*;

    #[test]
    fn problems_of_commits_name_the_line() {
        let check = |field: &str, detail: &str, expected: (&str, &str, &str)| {
            let problem = in_line(Violation::new(ViolationReason::TooLong, detail).within(field).into(), &[4, 6, 7]);
            let seen = (problem.field.as_deref().unwrap(), &*problem.detail);
            assert_eq!(seen, (expected.0, expected.1));
            assert_eq!(problem.metadata["line"], expected.2);
        };
        check("events[1].tool_called.call_id", "is too long", ("callId", "line 6: callId is too long", "6"));
        check("events", "is too large", ("events", "lines 4 to 7: events is too large", "4"));
    }
}
