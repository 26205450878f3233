//! The messages that a page shows, from the newest back: whole turns, each a user's message and what answers it. What was
//! passed over by a rewind is not among them.

mod turns;

use std::collections::BTreeSet;

use domain::event::Role;
use domain::{CallId, EventKind, Fact, PassedOver, RecordedEvent, Version};
use read_model::EventRow;
use read_model::queries::EventQuery;
use runs::{Approvals, UiMessage, page};
use runtime::http::HttpProblem;
use wire::status::Problem;

use super::owned::{Owned, of_read};
use crate::Gateway;
use crate::fresh::Place;
use crate::history::{self, Range};
use crate::http::problem;
use crate::http::state::HttpState;
use crate::page::PageBounds;
use crate::request::{Bounded, Target};
use crate::{rewinds, window};

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
const EVENTS_PER_MESSAGE: u32 = 4;
/// Events of one read.
const READ: PageBounds = PageBounds {
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
    let passed = passed_over(state, chat).await.map_err(of_read)?;
    let page = messages(&state.gateway, &chat.target, &approvals, (paging, &passed)).await;
    page.map_err(of_read)
}

/// A conversation that was never rewound, nor goes on from another, costs no read.
async fn passed_over(state: &HttpState, chat: &Owned) -> Result<PassedOver, Problem> {
    let head = &chat.conversation.head;
    if head.latest_rewind.is_none() && head.forked_from.is_none() {
        return Ok(PassedOver::default());
    }
    let passed = rewinds::passed_over(&state.gateway, &chat.target, EventQuery::TO_THE_END);
    Box::pin(passed).await
}

/// A page of messages. What a run has not finished yet is not among them.
///
/// # Errors
/// As [`history::backward`].
async fn messages(
    gateway: &Gateway,
    target: &Target,
    approvals: &Approvals,
    (paging, passed): (Paging, &PassedOver),
) -> Result<MessagesPage, Problem> {
    let limit = usize::try_from(paging.limit).unwrap_or(usize::MAX);
    let mut read = Reading::before(paging.before, passed);
    let mut bounds = PageBounds {
        events_max: paging
            .limit
            .saturating_mul(EVENTS_PER_MESSAGE)
            .min(READ.events_max),
        ..READ
    };
    while read.goes_on() && !read.has_turns(limit) {
        read.back(gateway, target, bounds).await?;
        bounds = READ;
    }
    read.events.reverse();
    read.drop_broken_turn();
    let later = match paging.before {
        Some(before) => later_results(gateway, target, before, &read.events).await?,
        None => Vec::new(),
    };
    let later = later.into_iter();
    let later: Vec<_> = later.filter(|event| !passed.hides(event.version)).collect();
    let folded = [read.events.as_slice(), later.as_slice()].concat();
    Ok(turns::cut(page(&folded, None, approvals), read, limit))
}

/// Events, newest first, as far back as they were read.
struct Reading<'a> {
    passed: &'a PassedOver,
    events: Vec<RecordedEvent>,
    bytes: u64,
    /// The last version to read next; `None`: the beginning was reached.
    to: Option<Version>,
}

impl<'a> Reading<'a> {
    fn before(before: Option<Version>, passed: &'a PassedOver) -> Self {
        let to = before.map_or(EventQuery::TO_THE_END, |before| {
            Version(before.0.saturating_sub(1))
        });
        let to = passed.shown(to);
        Self {
            passed,
            events: Vec::new(),
            bytes: 0,
            to: (to > Version::ZERO).then_some(to),
        }
    }

    fn goes_on(&self) -> bool {
        self.to.is_some() && self.events.len() < EVENTS_READ_MAX && self.bytes < BYTES_READ_MAX
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

    async fn back(
        &mut self,
        gateway: &Gateway,
        target: &Target,
        bounds: PageBounds,
    ) -> Result<(), Problem> {
        let Some(to) = self.to else {
            return Ok(());
        };
        let range = Range {
            from: Version(1),
            to,
            kinds: BTreeSet::new(),
            after: Place::default(),
            bounds,
        };
        let page = history::backward(gateway, target, &range).await?;
        let shown = |row: &EventRow| !self.passed.hides(row.version);
        for row in page.events.into_iter().filter(shown) {
            let bytes = u64::try_from(row.bytes.len()).unwrap_or(u64::MAX);
            self.bytes = self.bytes.saturating_add(bytes);
            self.events.push(window::recorded(&target.key, &row)?);
        }
        let next = page.next.map(|next| self.passed.shown(next.version));
        self.to = next;
        Ok(())
    }

    /// Leaves out what stands before the first whole turn, in order; a turn too long to be read whole is cut between commits.
    fn drop_broken_turn(&mut self) {
        if self.to.is_none() {
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
    gateway: &Gateway,
    target: &Target,
    before: Version,
    events: &[RecordedEvent],
) -> Result<Vec<RecordedEvent>, Problem> {
    let open = open_calls(events);
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let range = Range {
        from: before,
        to: EventQuery::TO_THE_END,
        kinds: BTreeSet::from([EventKind::ToolReturned]),
        after: Place::default(),
        bounds: READ,
    };
    let page = history::forward(gateway, target, &range).await?;
    let rows = page.events.iter();
    let mut results = Vec::new();
    for event in rows.map(|row| window::recorded(&target.key, row)) {
        let event = event?;
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
