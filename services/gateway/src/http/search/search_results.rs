//! JSON of search results.

use domain::event::Role;
use serde::Serialize;
use utoipa::ToSchema;

use api_json::conversation::StatusName;
use api_json::instant::rfc3339;
use conversations::names::Names;
use conversations::search::{SearchPage, SearchResult};

/// A page of search results.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchResultsBody {
    /// The results. A page may have fewer than were asked for, or none, and still have a `nextCursor`.
    pub results: Vec<SearchResultBody>,
    /// The cursor of the next page; absent: this is the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// The number of texts that contain the words, at most 5,000; phrases, exclusions and rewinds may leave fewer results. Only
    /// on the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_count: Option<u32>,
    /// Whether there may be more than `matchCount`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_count_is_capped: Option<bool>,
    /// Everything that was recorded before this time is searched; RFC 3339. Absent: unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2026-11-22T05:00:00Z")]
    pub indexed_until: Option<String>,
    /// Whether conversations of some agents are being indexed again: their results may be incomplete.
    pub is_reindexing: bool,
}

/// What a search has found.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchResultBody {
    /// The conversation.
    conversation_id: String,
    /// The agent; absent for frontends.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<String>,
    /// The user who owns the conversation; absent for frontends, and for other owners.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    /// The title of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The status of the conversation.
    status: StatusName,
    /// What matches: `title`, `message`, `tool_call` or `tool_result`.
    #[schema(example = "message")]
    kind: &'static str,
    /// The version of the event; absent: the title matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 12)]
    version: Option<u64>,
    /// The role of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "user")]
    role: Option<&'static str>,
    /// The tool of the call or result.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<String>,
    /// When it was recorded; RFC 3339.
    #[schema(example = "2026-11-22T05:00:00.25Z")]
    time: String,
    /// Whether a rewind hides it.
    is_rewound: bool,
    /// The text around the first match: plain text, never markup.
    snippet: Vec<SnippetPartBody>,
}

/// A part of a snippet.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnippetPartBody {
    /// The text.
    text: String,
    /// Whether it matches.
    is_match: bool,
}

/// Which details of conversations a caller gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum Details {
    /// Everything.
    All,
    /// The details for their owner.
    OfOwner,
}

impl SearchResultsBody {
    pub(in crate::http) fn new(page: SearchPage, details: Details) -> Self {
        let results = page.results.into_iter();
        Self {
            results: results.map(|result| SearchResultBody::new(result, details)).collect(),
            next_cursor: page.next,
            match_count: page.match_count.map(|count| count.count),
            match_count_is_capped: page.match_count.map(|count| count.is_capped),
            indexed_until: page.indexed_until.map(rfc3339),
            is_reindexing: page.is_reindexing,
        }
    }
}

impl SearchResultsBody {
    /// As the owner of these names reads it.
    #[must_use]
    pub fn named(mut self, names: &Names) -> Self {
        for result in &mut self.results {
            result.conversation_id = names.shown(&result.conversation_id).to_owned();
        }
        self
    }
}

impl SearchResultBody {
    fn new(result: SearchResult, details: Details) -> Self {
        let has_owner_and_agent = details == Details::All;
        let snippet =
            result.snippet.into_iter().map(|part| SnippetPartBody { text: part.text, is_match: part.is_match });
        Self {
            conversation_id: result.conversation.as_str().to_owned(),
            agent_id: has_owner_and_agent.then(|| result.agent.as_str().to_owned()),
            user_id: result.user.filter(|_| has_owner_and_agent).map(|user| user.as_str().to_owned()),
            title: result.title,
            status: result.status.into(),
            kind: result.kind.as_str(),
            version: result.version.map(|version| version.0),
            role: result.role.map(Role::as_str),
            tool_name: result.tool_name,
            time: rfc3339(result.recorded_at),
            is_rewound: result.is_rewound,
            snippet: snippet.collect(),
        }
    }
}
