//! Reads a response from the record: the events of its run, and the note with its parameters.

use axum::http::StatusCode;
use domain::{
    AgentId, Annotation, ConversationId, EventKind, Fact, Lifecycle, RecordedEvent, RunEnd, RunOutcome, Timestamp,
    Version,
};
use history::{Bounds, Direction, Range, Snapshot, Target, View, decode};
use openai_api::items::stored_item::StoredItem;
use openai_api::responses::object::{ResponseHead, ResponseObject};
use openai_api::responses::parameters::Noted;
use openai_api::responses::response_id::ResponseId;
use runs::Outcome;
use runtime::http::HttpProblem;

use crate::http::openai::caller::OpenAiCaller;
use crate::http::openai::conversations::items::{ITEM_KINDS, items_of};
use conversations::end_user::IdOrigin;
use http_listener::state::HttpState;

/// Most events between the start of a run and its end: its own, and those that others append meanwhile.
const EVENTS_UNTIL_END_MAX: usize = 2_000;
/// One read of events.
const BATCH: Bounds = Bounds { events_max: 500, bytes_max: 16 * 1024 * 1024 };

/// A recorded response.
#[derive(Debug)]
pub(super) struct RecordedResponse {
    /// Its id.
    pub(super) id: ResponseId,
    /// How to read its conversation.
    pub(super) target: Target,
    /// What was recorded of its request.
    pub(super) noted: Noted,
    /// The events of its output.
    pub(super) output: Vec<RecordedEvent>,
    /// How it ended, with the version of its end; `None`: it is in progress.
    pub(super) end: Option<(RunEnd, Version)>,
    created_at: Timestamp,
}

impl RecordedResponse {
    /// The response with this id. A run whose end is published is finished first.
    ///
    /// # Errors
    /// 404: there is no such response that the caller may read, or it was deleted.
    pub(super) async fn find(state: &HttpState, caller: &OpenAiCaller, id: &str) -> Result<Self, HttpProblem> {
        let id = ResponseId::parse(id).ok_or_else(not_found)?;
        let target = caller.target(state, &id.conversation).await.map_err(as_not_found)?;
        let found = read(state, caller, &id, &target).await?;
        if found.end.is_some() || !state.finish_if_closed(&target, id.run).await {
            return Ok(found.with(id, target));
        }
        let found = read(state, caller, &id, &target).await?;
        Ok(found.with(id, target))
    }

    /// The response.
    ///
    /// # Errors
    /// 500: an event is corrupt.
    pub(super) fn object(&self) -> Result<ResponseObject, HttpProblem> {
        let object = ResponseObject::in_progress(self.head());
        let Some((end, _)) = &self.end else {
            return Ok(object);
        };
        let items = recorded_items(&self.target.key.conversation, &self.output)?;
        let facts = self.facts();
        Ok(object.ended(&Outcome::of(end, &facts), &facts, items))
    }

    /// What identifies the response.
    pub(super) fn head(&self) -> ResponseHead {
        let named = self.noted.names_conversation;
        ResponseHead {
            id: self.id.text(),
            created_at: self.created_at.seconds(),
            conversation: named.then(|| self.id.conversation.clone()),
            parameters: self.noted.parameters.clone(),
        }
    }

    /// The facts of its output.
    pub(super) fn facts(&self) -> Vec<Fact> {
        self.output.iter().map(|event| event.event.fact.clone()).collect()
    }

    /// The version of its end: the model of a response that continues it reads the conversation up to there.
    ///
    /// # Errors
    /// 400: it belongs to another agent, has not ended, or failed.
    pub(super) fn continued_from(&self, agent: &AgentId) -> Result<Version, HttpProblem> {
        if self.target.access.agent != *agent {
            return Err(previous_not_found());
        }
        let ended = self.end.as_ref().filter(|(end, _)| is_complete(end));
        let Some((_, end)) = ended else {
            let detail =
                "the previous response is in progress or failed: wait for its end, or continue the one before it";
            let code = "PREVIOUS_RESPONSE_NOT_COMPLETE";
            return Err(HttpProblem::of_field(code, "previous_response_id", detail));
        };
        Ok(*end)
    }
}

/// What a read has found.
struct Found {
    noted: Noted,
    created_at: Timestamp,
    output: Vec<RecordedEvent>,
    end: Option<(RunEnd, Version)>,
}

impl Found {
    fn with(self, id: ResponseId, target: Target) -> RecordedResponse {
        RecordedResponse {
            id,
            target,
            noted: self.noted,
            output: self.output,
            end: self.end,
            created_at: self.created_at,
        }
    }
}

async fn read(
    state: &HttpState,
    caller: &OpenAiCaller,
    id: &ResponseId,
    target: &Target,
) -> Result<Found, HttpProblem> {
    let snapshot = open_response(state, caller, target).await.map_err(as_not_found)?;
    let effective = snapshot.effective(snapshot.position().version).await?;
    if !effective.contains(id.started) {
        return Err(not_found());
    }
    let note = Version(id.started.0.saturating_sub(1));
    let mut start = events(&snapshot, note, id.started).await?.into_iter();
    let (Some(note), Some(started)) = (start.next(), start.next()) else {
        return Err(not_found());
    };
    let is_run = matches!(&started.event.fact,
        Fact::Lifecycle(Lifecycle::RunStarted(started)) if started.run == id.run);
    let noted = Noted::of(&note.event).filter(|_| is_run && note.commit == started.commit);
    let (output, end) = output(&snapshot, id).await?;
    Ok(Found { noted: noted.ok_or_else(not_found)?, created_at: started.recorded_at, output, end })
}

/// Opens a snapshot of the conversation of a response. Only the service issues ids of responses.
///
/// # Errors
/// As [`BackEndRequest::open`](conversations::back_end_request::BackEndRequest::open).
pub(super) async fn open_response<'a>(
    state: &'a HttpState,
    caller: &'a OpenAiCaller,
    target: &'a Target,
) -> Result<Snapshot<'a>, HttpProblem> {
    Ok(caller.request(state).open(target, IdOrigin::Issued).await?)
}

/// The recorded events of a range of at most one batch.
async fn events(snapshot: &Snapshot<'_>, from: Version, to: Version) -> Result<Vec<RecordedEvent>, HttpProblem> {
    let range = Range { from, to, ..Range::all(Direction::Forward) };
    let mut cursor = snapshot.cursor(range, View::Recorded);
    let rows = cursor.next(BATCH).await?;
    let events = rows.into_iter().flatten().map(|event| decode(snapshot.key(), &event.row));
    events.collect::<Result<_, _>>().map_err(HttpProblem::from)
}

type Output = (Vec<RecordedEvent>, Option<(RunEnd, Version)>);

/// The events of the run's last commit, and its end.
async fn output(snapshot: &Snapshot<'_>, id: &ResponseId) -> Result<Output, HttpProblem> {
    let range =
        Range { from: id.started.next(), to: id.started.plus(EVENTS_UNTIL_END_MAX), ..Range::all(Direction::Forward) };
    let commit = id.run.finish_commit();
    let mut cursor = snapshot.cursor(range, View::Recorded);
    let (mut output, mut error) = (Vec::new(), None);
    while let Some(batch) = cursor.next(BATCH).await? {
        for row in batch {
            let event = decode(snapshot.key(), &row.row)?;
            if event.commit != commit {
                continue;
            }
            match event.event.fact {
                Fact::Lifecycle(Lifecycle::RunFinished(finished)) => {
                    let outcome = finished.outcome;
                    return Ok((output, Some((RunEnd { outcome, error }, event.version))));
                }
                Fact::Annotation(Annotation::ErrorOccurred(occurred)) => error = Some(occurred),
                Fact::MessageAppended(_)
                | Fact::ToolCalled(_)
                | Fact::ToolReturned(_)
                | Fact::Annotation(_)
                | Fact::Lifecycle(_) => output.push(event),
            }
        }
    }
    Ok((output, None))
}

/// The version of the conversation, if neither items nor another run follow a version in its effective history; `None`: they do.
///
/// # Errors
/// The conversation cannot be read.
pub(super) async fn version_without_items_after(
    state: &HttpState,
    target: &Target,
    version: Version,
) -> Result<Option<Version>, HttpProblem> {
    let [messages, calls, results] = ITEM_KINDS;
    let kinds = [messages, calls, results, EventKind::RunStarted];
    let snapshot = Snapshot::open(&state.gateway.reader, target).await?;
    let effective = snapshot.effective(snapshot.position().version).await?;
    let range = Range { from: version.next(), kinds: &kinds, ..Range::all(Direction::Forward) };
    let mut cursor = snapshot.cursor(range, View::Effective(&effective));
    let next = cursor.next(Bounds::ONE).await?;
    let is_last = next.is_none_or(|events| events.is_empty());
    Ok(is_last.then_some(snapshot.position().version))
}

/// Whether a response that ended can be continued.
fn is_complete(end: &RunEnd) -> bool {
    matches!(end.outcome, RunOutcome::Completed | RunOutcome::Stopped)
}

/// There is no such response. A foreign one gets the same answer.
pub(super) fn not_found() -> HttpProblem {
    let detail = "no such response for this caller: it was deleted, or not stored";
    HttpProblem::new(StatusCode::NOT_FOUND, "RESPONSE_NOT_FOUND", detail)
}

/// There is no such previous response for this caller.
pub(super) fn previous_not_found() -> HttpProblem {
    let detail = "previous_response_id names no response of this caller: it was deleted, or not stored";
    HttpProblem::of_field("previous_response_not_found", "previous_response_id", detail)
}

fn as_not_found(problem: HttpProblem) -> HttpProblem {
    if problem.status == StatusCode::NOT_FOUND {
        return not_found();
    }
    problem
}

/// The items of recorded events.
///
/// # Errors
/// 500: an event is corrupt.
fn recorded_items(conversation: &ConversationId, events: &[RecordedEvent]) -> Result<Vec<StoredItem>, HttpProblem> {
    let mut all = Vec::new();
    for event in events {
        all.extend(items_of(conversation, event)?);
    }
    Ok(all)
}
