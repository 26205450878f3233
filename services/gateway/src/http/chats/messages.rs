//! The messages that a page shows, from the newest back: whole turns, each a user's message and what answers it. What a
//! rewind hides is not among them.

mod turns;

use std::collections::BTreeSet;

use domain::event::Role;
use domain::{CallId, EventKind, Fact, RecordedEvent, Version};
use history::{Batch, Cursor, Direction, Page, PageBounds, Query, Snapshot, View, decode};
use read_model::queries::EventQuery;
use runs::{Approvals, UiMessage, page};
use runtime::http::HttpProblem;
use wire::status::Problem;

use crate::http::owned_chat::{Owned, of_read};
use crate::http::problem;
use crate::http::state::HttpState;
use crate::request::Bounded;

/// Messages of a page.
pub const MESSAGES_PAGE: Bounded = Bounded {
    field: "limit",
    default: 50,
    max: 200,
};
/// Most events that are read for a page of messages. A turn that is longer is cut between two commits.
pub const EVENTS_READ_MAX: usize = 4_000;
/// A page is cut in the same way once its events reach this many bytes.
pub const BYTES_READ_MAX: u64 = 8 * 1024 * 1024;
/// How many events the first read takes for each message asked for.
const EVENTS_PER_MESSAGE: usize = 4;
/// Events of one read.
const READ: Batch = Batch {
    events_max: 1_000,
    bytes_max: 3 * 1024 * 1024,
};
/// Results of calls that are looked at behind a page.
const LATER: PageBounds = PageBounds {
    events_max: 1_000,
    bytes_max: 3 * 1024 * 1024,
};

/// Which messages to show.
#[derive(Debug, Clone, Copy)]
pub struct Paging {
    /// Most messages; a turn that has more comes whole.
    pub limit: u32,
    /// Only what stands before this version; `None`: up to the last.
    pub before: Option<Version>,
}

impl Paging {
    /// What a query asks for.
    ///
    /// # Errors
    /// 400: more than [`MESSAGES_PAGE`] allows.
    pub fn of(limit: Option<u32>, before: Option<u64>) -> Result<Self, HttpProblem> {
        let limit = MESSAGES_PAGE.take(limit.unwrap_or_default());
        Ok(Self {
            limit: limit.map_err(|violation| problem::of(Problem::from(violation)))?,
            before: before.map(Version),
        })
    }
}

/// Messages of a conversation, oldest first.
#[derive(Debug, Default)]
pub struct MessagesPage {
    /// The messages.
    pub messages: Vec<UiMessage>,
    /// The version of the last event of each message.
    pub ends: Vec<Version>,
    /// The events that they come from, and those between them.
    pub events: Vec<RecordedEvent>,
    /// Where the page before this one ends; `None`: there is none.
    pub next_before: Option<Version>,
}

/// A page of messages of a caller's conversation.
///
/// # Errors
/// As `messages`, told as reads of conversations are.
pub async fn shown(
    state: &HttpState,
    chat: &Owned,
    paging: Paging,
) -> Result<MessagesPage, HttpProblem> {
    let approvals = state.approvals(&chat.target.access.agent);
    let page = messages(state, chat, &approvals, paging).await;
    page.map_err(of_read)
}

/// A page of messages. What a run has not finished yet is not among them.
///
/// # Errors
/// As [`Snapshot::open`].
async fn messages(
    state: &HttpState,
    chat: &Owned,
    approvals: &Approvals,
    paging: Paging,
) -> Result<MessagesPage, Problem> {
    let limit = usize::try_from(paging.limit).unwrap_or(usize::MAX);
    let to = paging.before.map_or(EventQuery::TO_THE_END, |before| {
        Version(before.0.saturating_sub(1))
    });
    let query = Query {
        to,
        ..Query::all(Direction::Backward)
    };
    let mut batch = Batch {
        events_max: limit
            .saturating_mul(EVENTS_PER_MESSAGE)
            .min(READ.events_max),
        ..READ
    };
    let opened = Snapshot::open_with(&state.gateway.reader, &chat.target, &query, batch);
    let (snapshot, first) = opened.await?;
    let effective = snapshot.effective(snapshot.position().version).await?;
    let view = View::Effective(&effective);
    let mut read = Reading {
        cursor: snapshot.cursor_from(query, view, first),
        events: Vec::new(),
        bytes: 0,
    };
    while read.may_continue() && !read.has_turns(limit) {
        read.back(batch).await?;
        batch = READ;
    }
    read.events.reverse();
    read.drop_broken_turn();
    let later = match paging.before {
        Some(before) => later_results(&snapshot, view, before, &read.events).await?,
        None => Vec::new(),
    };
    let folded = [read.events.as_slice(), later.as_slice()].concat();
    Ok(turns::cut(page(&folded, None, approvals), read, limit))
}

/// Events, newest first, as far back as they were read.
struct Reading<'s> {
    cursor: Cursor<'s>,
    events: Vec<RecordedEvent>,
    bytes: u64,
}

impl Reading<'_> {
    fn may_continue(&self) -> bool {
        !self.cursor.is_done() && self.events.len() < EVENTS_READ_MAX && self.bytes < BYTES_READ_MAX
    }

    /// Whether whole turns are there that have as many messages as asked for.
    fn has_turns(&self, limit: usize) -> bool {
        let (mut messages, mut is_answered) = (0, 0);
        for event in &self.events {
            let Fact::MessageAppended(message) = &event.event.fact else {
                continue;
            };
            match message.role {
                Role::User => {
                    messages += 1 + is_answered;
                    is_answered = 0;
                }
                Role::Assistant => is_answered = 1,
                Role::System | Role::Developer => {}
            }
        }
        messages >= limit
    }

    async fn back(&mut self, batch: Batch) -> Result<(), Problem> {
        let key = self.cursor.snapshot().key();
        for event in self.cursor.next(batch).await?.into_iter().flatten() {
            let bytes = u64::try_from(event.row.bytes.len()).unwrap_or(u64::MAX);
            self.bytes = self.bytes.saturating_add(bytes);
            self.events.push(decode(key, &event.row)?);
        }
        Ok(())
    }

    /// Leaves out what stands before the first whole turn, in order; a turn too long to be read whole is cut between commits.
    fn drop_broken_turn(&mut self) {
        if self.cursor.is_done() {
            return;
        }
        let first = self.events.iter().position(is_users).or_else(|| {
            let broken = self.events.first().map(|event| event.commit);
            self.events
                .iter()
                .position(|event| Some(event.commit) != broken)
        });
        self.events.drain(..first.unwrap_or_default());
    }
}

fn is_users(event: &RecordedEvent) -> bool {
    matches!(&event.event.fact, Fact::MessageAppended(message) if message.role == Role::User)
}

/// The results, recorded after the page, of calls that are in it: they are shown where the calls are. Only the first results
/// after the page are looked at, as many as one read has events; what is answered later yet is shown as waiting.
async fn later_results(
    snapshot: &Snapshot<'_>,
    view: View<'_>,
    before: Version,
    events: &[RecordedEvent],
) -> Result<Vec<RecordedEvent>, Problem> {
    let open = open_calls(events);
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let query = Query {
        from: before,
        kinds: &[EventKind::ToolReturned],
        ..Query::all(Direction::Forward)
    };
    let mut cursor = snapshot.cursor(query, view);
    let page = Page::read(&mut cursor, LATER).await?;
    let mut results = Vec::new();
    for row in &page.events {
        let event = decode(snapshot.key(), row)?;
        if matches!(&event.event.fact, Fact::ToolReturned(result) if open.contains(&result.call_id))
        {
            results.push(event);
        }
    }
    Ok(results)
}

fn open_calls(events: &[RecordedEvent]) -> BTreeSet<CallId> {
    let mut open = BTreeSet::new();
    for event in events {
        if let Fact::ToolCalled(call) = &event.event.fact {
            open.insert(call.call_id.clone());
        } else if let Fact::ToolReturned(result) = &event.event.fact {
            open.remove(&result.call_id);
        }
    }
    open
}
