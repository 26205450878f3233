//! `GET /dashboard/conversations/{id}`: the transcript, a page of events at a time.

use std::collections::HashMap;

use axum::extract::State;
use domain::{ConversationId, EventKind, Fact, Lifecycle, RecordedEvent, RunId, Segments, Timestamp, Version};
use history::{Bounds, Direction, Page as Events, Snapshot, Target, View, decode};
use pages::dashboard::transcript::{
    Depth, EventOfTranscript, ForkOfTranscript, TranscriptPage, is_of_model, transcript,
};
use runtime::http::{HttpProblem, Path, Query};
use serde::Deserialize;

use super::{DashboardAction, record};
use crate::page::Page;
use crate::person::Person;
use api_json::fact::EventBody;
use api_json::json_line::json_line;
use conversations::forks::list_forks;
use conversations::open::read_fenced;
use http_listener::state::HttpState;

/// The bounds of a page: its HTML stays small, whatever a conversation contains.
pub const TRANSCRIPT_PAGE: Bounds = Bounds { events_max: 100, bytes_max: 2 * 1024 * 1024 };
/// How far before a page the start of a step is searched: a step has at most 128 calls.
const STEP_BOUNDS: Bounds = Bounds { events_max: 150, bytes_max: 2 * 1024 * 1024 };
/// Most forks of the tree.
pub const FORKS_SHOWN_MAX: u32 = 100;
/// What the depth "conversation" shows.
const CONVERSATION_KINDS: [EventKind; 7] = [
    EventKind::MessageAppended,
    EventKind::ToolCalled,
    EventKind::ToolReturned,
    EventKind::ErrorOccurred,
    EventKind::HistorySummarised,
    EventKind::HistoryRewound,
    EventKind::RunFinished,
];

/// Which events to show. At most one of the versions is used: `at`, then `after`, then `before`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct TranscriptQuery {
    #[serde(default)]
    depth: DepthName,
    /// From this event on.
    at: Option<u64>,
    /// After this event.
    after: Option<u64>,
    /// Before this event; absent, as all: the newest.
    before: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DepthName {
    #[default]
    Conversation,
    Everything,
    Raw,
}

impl From<DepthName> for Depth {
    fn from(name: DepthName) -> Self {
        match name {
            DepthName::Conversation => Self::Conversation,
            DepthName::Everything => Self::Everything,
            DepthName::Raw => Self::Raw,
        }
    }
}

pub(crate) async fn show_conversation(
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
    Query(query): Query<TranscriptQuery>,
) -> Result<Page, HttpProblem> {
    let target = person.admin.target(&state, &id).await?;
    let (target, conversation) = read_fenced(&state, target).await?;
    record(&state, &person, DashboardAction::Viewed, &conversation.id, "").await?;
    let events = events(&state, &target, &query).await?;
    let mut forks = forks(&state, &target, &conversation.id).await?;
    let shown = usize::try_from(FORKS_SHOWN_MAX).unwrap_or(usize::MAX);
    let has_more_forks = forks.len() > shown;
    forks.truncate(shown);
    Ok(Page(transcript(TranscriptPage {
        person: person.layout(),
        conversation: &conversation,
        depth: query.depth.into(),
        events: &events.events,
        step_start: step_start(&state, &target, &events.events).await?,
        has_earlier: events.has_earlier,
        has_later: events.has_later,
        ancestors: &events.ancestors,
        forks: &forks,
        has_more_forks,
        prices: &state.section.dashboard.prices(),
    })))
}

struct EventsOfPage {
    events: Vec<EventOfTranscript>,
    /// The nearest first.
    ancestors: Vec<String>,
    has_earlier: bool,
    has_later: bool,
}

async fn events(state: &HttpState, target: &Target, query: &TranscriptQuery) -> Result<EventsOfPage, HttpProblem> {
    let from = query.at.or(query.after.map(|after| after.saturating_add(1)));
    let kinds: &[EventKind] = match query.depth {
        DepthName::Conversation => &CONVERSATION_KINDS,
        DepthName::Everything | DepthName::Raw => &[],
    };
    let mut range = history::Range {
        kinds,
        ..history::Range::all(if from.is_some() { Direction::Forward } else { Direction::Backward })
    };
    match (from, query.before) {
        (Some(from), _) => range.from = Version(from.max(1)),
        (None, Some(before)) => range.to = Version(before.saturating_sub(1)),
        (None, None) => {}
    }
    let PageOfHistory { page, effective, ancestors } = read(state, target, range).await?;
    let mut events = decoded(target, &page, &effective, query.depth)?;
    let has_next = page.next.is_some();
    if from.is_none() {
        events.reverse();
    }
    mark_starts_of_runs(&mut events);
    Ok(EventsOfPage {
        events,
        ancestors,
        has_earlier: from.map_or(has_next, |from| from > 1),
        has_later: if from.is_some() {
            has_next
        } else {
            query.before.is_some_and(|before| before <= page.position.version.0)
        },
    })
}

/// The first event of the step to which the first event of a page belongs; `None`: [`STEP_BOUNDS`] do not reach it.
async fn step_start(
    state: &HttpState,
    target: &Target,
    events: &[EventOfTranscript],
) -> Result<Option<Version>, HttpProblem> {
    let Some(first) = events.first().map(|event| &event.recorded) else {
        return Ok(None);
    };
    let mut start = first.version;
    let to = Version(start.0.saturating_sub(1));
    if !is_of_model(&first.event.fact) || to == Version::ZERO {
        return Ok(Some(start));
    }
    let query = history::Range { to, ..history::Range::all(Direction::Backward) };
    let before = Events::recorded(&state.gateway.reader, target, query, STEP_BOUNDS).await?;
    for row in &before.events {
        let recorded = decode(&target.key, row)?;
        if !is_of_model(&recorded.event.fact) {
            return Ok(Some(start));
        }
        start = recorded.version;
    }
    Ok(before.next.is_none().then_some(start))
}

/// What a page shows of the history, of one snapshot.
struct PageOfHistory {
    page: Events,
    effective: Segments,
    /// The nearest first.
    ancestors: Vec<String>,
}

async fn read(
    state: &HttpState,
    target: &Target,
    query: history::Range<'_>,
) -> Result<PageOfHistory, wire::status::Problem> {
    let reader = &state.gateway.reader;
    let (snapshot, first) = Snapshot::open_with(reader, target, &query, TRANSCRIPT_PAGE.one_more()).await?;
    let mut cursor = snapshot.cursor_from(query, View::Recorded, first);
    let page = Events::read(&mut cursor, TRANSCRIPT_PAGE).await?;
    let effective = snapshot.effective(snapshot.position().version).await?;
    let ancestors = snapshot.ancestors().map(|id| id.as_str().to_owned()).collect();
    Ok(PageOfHistory { page, effective, ancestors })
}

fn decoded(
    target: &Target,
    page: &Events,
    effective: &Segments,
    depth: DepthName,
) -> Result<Vec<EventOfTranscript>, HttpProblem> {
    let events = page.events.iter().map(|row| {
        let recorded = decode(&target.key, row)?;
        let is_raw = matches!(depth, DepthName::Raw);
        Ok(EventOfTranscript {
            is_rewound: !effective.contains(recorded.version),
            json: is_raw.then(|| event_json(&recorded)).transpose()?,
            run_started_at: None,
            recorded,
        })
    });
    events.collect()
}

/// An event as JSON, the same as of the JSON API.
pub(super) fn event_json(recorded: &RecordedEvent) -> Result<String, HttpProblem> {
    json_line(&EventBody::from(recorded)).map_err(|_| {
        let what = format!("event {} has a document that is not JSON", recorded.version);
        HttpProblem::from(conversations::problem::of_contradiction(what))
    })
}

fn mark_starts_of_runs(events: &mut [EventOfTranscript]) {
    let mut starts: HashMap<RunId, Timestamp> = HashMap::new();
    for event in events {
        let fact = &event.recorded.event.fact;
        if let Fact::Lifecycle(Lifecycle::RunStarted(started)) = fact {
            starts.insert(started.run, event.recorded.recorded_at);
        }
        if let Fact::Lifecycle(Lifecycle::RunFinished(finished)) = fact {
            event.run_started_at = starts.get(&finished.run).copied();
        }
    }
}

/// The forks, one more than are shown.
async fn forks(state: &HttpState, target: &Target, id: &ConversationId) -> Result<Vec<ForkOfTranscript>, HttpProblem> {
    let forks = list_forks(state, &target.access, id, FORKS_SHOWN_MAX + 1)
        .await?
        .into_iter()
        .map(|fork| ForkOfTranscript { id: fork.id.as_str().to_owned(), parent: fork.parent.as_str().to_owned() });
    Ok(forks.collect())
}
