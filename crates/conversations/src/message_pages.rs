//! Pages of messages, from the newest backward. A page has whole turns: each is a user's message and its answer.
//! Rewound messages are not included.

mod details;
mod turns;

pub use details::MessageDetails;

use std::collections::BTreeSet;

use domain::event::Role;
use domain::{CallId, EventKind, Fact, RecordedEvent, Version};
use history::{Bounds, Cursor, Direction, Page, Range, Snapshot, View, decode};
use read_model::queries::EventQuery;
use runs::{Disclosure, UiMessage, page};
use wire::status::Problem;

use crate::Conversations;
use crate::open::OwnedChat;
use crate::problem::not_found;
use crate::request::BoundedNumber;

/// Page size.
pub const MESSAGES_PAGE: BoundedNumber = BoundedNumber { field: "limit", default: 50, max: 200 };
/// Maximum number of pages that are searched for a message; older ones need a version.
pub const PAGES_SEARCHED_MAX: u32 = 25;
/// Maximum number of events that are read for a page. A longer turn is split between two commits.
pub const EVENTS_READ_MAX: usize = 4_000;
/// A page is split in the same way when its events reach this size, as JSON. An answer has them at most twice, as messages and as
/// events.
pub const JSON_BYTES_MAX: u64 = 3 * 1024 * 1024;
/// Maximum number of pages that a process reads at the same time; others wait. A page needs up to about 20 MiB while it is read.
pub const PAGES_AT_ONCE: usize = 32;
/// Number of events of the first read, per requested message.
const EVENTS_PER_MESSAGE: usize = 4;
/// Size of a read.
const READ: Bounds = Bounds { events_max: 1_000, bytes_max: 3 * 1024 * 1024 };
/// Size of the read of later results.
const LATER_RESULTS: Bounds = Bounds { events_max: 1_000, bytes_max: 3 * 1024 * 1024 };

/// Which messages to read.
#[derive(Debug, Clone, Copy)]
pub struct Paging {
    /// Maximum number of messages; a turn is never split, so there may be more.
    pub limit: u32,
    /// Only messages before this version; `None`: up to the last.
    pub before: Option<Version>,
}

impl Paging {
    /// Paging from the parameters of a query.
    ///
    /// # Errors
    /// `FIELD_OUT_OF_RANGE`: above the maximum of [`MESSAGES_PAGE`].
    pub fn new(limit: Option<u32>, before: Option<u64>) -> Result<Self, Problem> {
        let limit = MESSAGES_PAGE.take(limit.unwrap_or_default());
        Ok(Self { limit: limit?, before: before.map(Version) })
    }
}

/// Messages of a conversation, oldest first.
#[derive(Debug, Default)]
pub struct MessagesPage {
    /// The messages.
    pub messages: Vec<UiMessage>,
    /// The version of the last event of each message.
    pub ends: Vec<Version>,
    /// The events of the messages, and the events between them, as the agent discloses them.
    pub events: Vec<RecordedEvent>,
    /// `before` of the previous page; `None`: there is none.
    pub next_before: Option<Version>,
}

impl MessagesPage {
    /// The details of each message, in order.
    #[must_use]
    pub fn details(&self) -> Vec<MessageDetails> {
        details::of_messages(&self.messages, &self.ends, &self.events)
    }
}

/// A page of messages of a caller's conversation.
///
/// # Errors
/// As [`Snapshot::open`]; [`not_found`] if the owner has changed since the conversation was found.
pub async fn read_page(
    conversations: &Conversations,
    chat: &OwnedChat,
    paging: Paging,
) -> Result<MessagesPage, Problem> {
    let page = messages(conversations, chat, paging).await;
    page?.ok_or_else(not_found)
}

/// Searches the pages from the newest backward, at most [`PAGES_SEARCHED_MAX`]; `None`: not found.
///
/// # Errors
/// As [`read_page`].
pub async fn search<T>(
    conversations: &Conversations,
    chat: &OwnedChat,
    find: impl Fn(&MessagesPage) -> Option<T>,
) -> Result<Option<T>, Problem> {
    let mut paging = Paging { limit: MESSAGES_PAGE.max, before: None };
    for _ in 0..PAGES_SEARCHED_MAX {
        let page = read_page(conversations, chat, paging).await?;
        let found = find(&page);
        if found.is_some() || page.next_before.is_none() {
            return Ok(found);
        }
        paging.before = page.next_before;
    }
    Ok(None)
}

/// A page of messages, without the answer of an active run; `None`: the owner has changed.
///
/// # Errors
/// As [`Snapshot::open`].
async fn messages(
    conversations: &Conversations,
    chat: &OwnedChat,
    paging: Paging,
) -> Result<Option<MessagesPage>, Problem> {
    let limit = usize::try_from(paging.limit).unwrap_or(usize::MAX);
    let to = paging.before.map_or(EventQuery::OPEN_END, |before| Version(before.0.saturating_sub(1)));
    let range = Range { to, ..Range::all(Direction::Backward) };
    let mut batch = Bounds { events_max: limit.saturating_mul(EVENTS_PER_MESSAGE).min(READ.events_max), ..READ };
    let _permit = conversations.pages.acquire().await;
    let (snapshot, first) = Snapshot::open_with(&conversations.gateway.reader, &chat.target, &range, batch).await?;
    // The conversation may have been found on a replica that lacks the change.
    if snapshot.owner() != chat.conversation.head.owner.as_ref() {
        return Ok(None);
    }
    let effective = snapshot.effective(snapshot.position().version).await?;
    let view = View::Effective(&effective);
    let mut reader = EventReader {
        cursor: snapshot.cursor_from(range, view, first),
        events: Vec::new(),
        json_bytes: 0,
        is_full: false,
    };
    while reader.may_continue() && !reader.has_turns(limit) {
        reader.read_older(batch).await?;
        batch = READ;
    }
    reader.events.reverse();
    reader.drop_partial_turn();
    let later = match paging.before {
        Some(before) => later_results(&snapshot, view, before, &reader.events).await?,
        None => Vec::new(),
    };
    let agent = &chat.target.access.agent;
    let disclosure = conversations.disclosure(agent);
    reader.events = disclosed(&disclosure, reader.events);
    let later = disclosed(&disclosure, later);
    let folded = [reader.events.as_slice(), later.as_slice()].concat();
    let messages = page(&folded, None, &conversations.approvals(agent));
    Ok(Some(turns::cut(messages, reader, limit)))
}

fn disclosed(disclosure: &Disclosure, events: Vec<RecordedEvent>) -> Vec<RecordedEvent> {
    let events = events.into_iter();
    events.filter_map(|event| disclosure.event(event)).collect()
}

/// Events, newest first.
struct EventReader<'s> {
    cursor: Cursor<'s>,
    events: Vec<RecordedEvent>,
    json_bytes: u64,
    /// Whether the next older event does not fit.
    is_full: bool,
}

impl EventReader<'_> {
    fn may_continue(&self) -> bool {
        !self.cursor.is_done() && !self.is_full && self.events.len() < EVENTS_READ_MAX
    }

    /// Whether the first event of the history was read.
    fn has_first(&self) -> bool {
        self.cursor.is_done() && !self.is_full
    }

    /// Whether the whole turns have enough messages.
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

    async fn read_older(&mut self, batch: Bounds) -> Result<(), Problem> {
        let key = self.cursor.snapshot().key();
        for event in self.cursor.next(batch).await?.into_iter().flatten() {
            self.json_bytes = self.json_bytes.saturating_add(json_bytes(&event.row.bytes));
            self.is_full = self.json_bytes > JSON_BYTES_MAX && !self.events.is_empty();
            if self.is_full {
                return Ok(());
            }
            self.events.push(decode(key, &event.row)?);
        }
        Ok(())
    }

    /// Removes the events before the first whole turn. A turn that is too long to be read whole is split between
    /// commits.
    fn drop_partial_turn(&mut self) {
        if self.has_first() {
            return;
        }
        let first = self.events.iter().position(is_user_message).or_else(|| {
            let first_commit = self.events.first().map(|event| event.commit);
            self.events.iter().position(|event| Some(event.commit) != first_commit)
        });
        self.events.drain(..first.unwrap_or_default());
    }
}

/// The size of recorded texts in JSON, in which most control characters take six bytes.
fn json_bytes(recorded: &[u8]) -> u64 {
    let written = recorded.iter().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
        0..b' ' => 6,
        _ => 1,
    });
    written.sum()
}

/// Whether an event is a message of the user.
#[must_use]
pub fn is_user_message(event: &RecordedEvent) -> bool {
    matches!(&event.event.fact, Fact::MessageAppended(message) if message.role == Role::User)
}

/// Results that were recorded after the page, of calls in the page. They are shown with their calls. Only one read of
/// results is made; calls with later results are shown as open.
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
    let range = Range { from: before, kinds: &[EventKind::ToolReturned], ..Range::all(Direction::Forward) };
    let mut cursor = snapshot.cursor(range, view);
    let page = Page::read(&mut cursor, LATER_RESULTS).await?;
    let mut results = Vec::new();
    for row in &page.events {
        let event = decode(snapshot.key(), row)?;
        if matches!(&event.event.fact, Fact::ToolReturned(result) if open.contains(&result.call_id)) {
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
