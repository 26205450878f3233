//! Results: documents whose text matches the query.

use std::collections::HashMap;

use domain::event::Role;
use domain::{AgentId, ConversationId, RecordedEvent, Segments, Status, Timestamp, UserId, Version};
use read_model::queries::search::FoundDocument;
use search::{Document, Kind, Matcher, SnippetPart, score, snippet};

/// A page of results.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SearchPage {
    /// The results.
    pub results: Vec<SearchResult>,
    /// The token of the next page; `None`: this is the last page.
    pub next: Option<String>,
    /// The number of texts that contain the words, on the first page.
    pub match_count: Option<MatchCount>,
    /// Everything that was recorded before this time is searched; `None`: unknown.
    pub indexed_until: Option<Timestamp>,
    /// Whether conversations of some agents are being indexed again.
    pub is_reindexing: bool,
}

/// A number of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchCount {
    /// The number, as far as it was counted.
    pub count: u32,
    /// Whether there may be more.
    pub is_capped: bool,
}

/// A result.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResult {
    /// The conversation.
    pub conversation: ConversationId,
    /// Its agent.
    pub agent: AgentId,
    /// The user who owns it; `None`: another owner.
    pub user: Option<UserId>,
    /// Its title.
    pub title: Option<String>,
    /// Its status.
    pub status: Status,
    /// What matches.
    pub kind: Kind,
    /// The version of the event; `None`: the title matches.
    pub version: Option<Version>,
    /// The role of the message.
    pub role: Option<Role>,
    /// The tool of the call or result.
    pub tool_name: Option<String>,
    /// When it was recorded, in whole microseconds.
    pub recorded_at: Timestamp,
    /// Whether a rewind hides it.
    pub is_rewound: bool,
    /// The text around the first match, as plain text.
    pub snippet: Vec<SnippetPart>,
    /// The relevance.
    pub(super) score: f64,
}

/// The result of a document; `None`: its text does not match, or it is not a searchable event.
pub(super) fn result(
    found: FoundDocument,
    matcher: &Matcher<'_>,
    rewinds: &HashMap<ConversationId, Vec<RecordedEvent>>,
) -> Option<SearchResult> {
    let document = match &found.event {
        Some(event) => Document::of_event(event)?,
        None => Document::of_title(found.title.as_deref()?),
    };
    let found_text = matcher.find(&document.text)?;
    let version = found.cursor.version;
    let is_event = document.kind != Kind::Title;
    let rewinds = rewinds.get(&found.cursor.conversation);
    let is_rewound = is_event
        && rewinds.is_some_and(|rewinds| {
            let segments = Segments::recorded(&[]).without_rewound(rewinds);
            !segments.contains(version)
        });
    Some(SearchResult {
        snippet: snippet(&document.text, &found_text.ranges),
        score: score(document.kind, &found_text),
        kind: document.kind,
        role: document.role,
        tool_name: document.tool_name,
        conversation: found.cursor.conversation,
        agent: found.agent,
        user: found.user,
        title: found.title,
        status: found.status,
        version: is_event.then_some(version),
        recorded_at: found.cursor.recorded_at,
        is_rewound,
    })
}
