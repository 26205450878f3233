//! `/dashboard/conversations/{id}`: the transcript of a conversation, a page of events at a time.

mod entries;
mod event;
mod facts;
mod lineage;
mod parts;
mod steps;

use domain::{Conversation, RecordedEvent, Timestamp, Version};
use maud::{Markup, html};

use crate::assets::TRANSCRIPT;
use crate::components::{EmptyState, empty};
use crate::cost::Prices;
use crate::layout::{Frame, Freshness, Person, Section, document};

pub use lineage::ForkOfTranscript;
pub use steps::is_of_model;

/// How much a transcript shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Depth {
    /// Messages, tools, summaries, errors and ends of runs.
    #[default]
    Conversation,
    /// Every event.
    Everything,
    /// Every event as JSON.
    Raw,
}

impl Depth {
    /// Every depth.
    pub const ALL: [Self; 3] = [Self::Conversation, Self::Everything, Self::Raw];

    /// Its name in URLs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::Everything => "everything",
            Self::Raw => "raw",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Conversation => "Conversation",
            Self::Everything => "Everything",
            Self::Raw => "Raw events",
        }
    }
}

/// An event of the page.
#[derive(Debug, Clone)]
pub struct EventOfTranscript {
    /// The event.
    pub recorded: RecordedEvent,
    /// Whether a rewind hides it.
    pub is_rewound: bool,
    /// The event as JSON, if the depth is raw.
    pub json: Option<String>,
    /// When its run started, if it ends one whose start is on the page.
    pub run_started_at: Option<Timestamp>,
}

/// The values of the page.
#[derive(Clone, Copy)]
pub struct TranscriptPage<'a> {
    /// The signed-in person.
    pub person: Person<'a>,
    /// The conversation.
    pub conversation: &'a Conversation,
    /// How much is shown.
    pub depth: Depth,
    /// The events, by version.
    pub events: &'a [EventOfTranscript],
    /// The first event of the step to which the first of `events` belongs; `None`: it is too far before them.
    pub step_start: Option<Version>,
    /// Whether there are earlier events.
    pub has_earlier: bool,
    /// Whether there are later events.
    pub has_later: bool,
    /// The conversations that it continues, the nearest first.
    pub ancestors: &'a [String],
    /// The conversations that continue it.
    pub forks: &'a [ForkOfTranscript],
    /// Whether there are more forks than `forks` has.
    pub has_more_forks: bool,
    /// The prices of models.
    pub prices: &'a Prices,
}

/// The path of a conversation's page.
#[must_use]
pub fn path(conversation: &str) -> String {
    format!("/dashboard/conversations/{conversation}")
}

/// A URL that opens the page at an event.
#[must_use]
pub fn event_url(conversation: &str, version: Version) -> String {
    format!("{}?at={version}#v{version}", path(conversation))
}

/// The transcript.
#[must_use]
pub fn transcript(page: TranscriptPage<'_>) -> Markup {
    let conversation = page.conversation;
    let title = conversation.title.as_deref().filter(|title| !title.trim().is_empty());
    let frame = Frame {
        title: title.unwrap_or(conversation.id.as_str()),
        person: Some(page.person),
        section: Some(Section::Conversations),
        freshness: Freshness::Current,
    };
    let main = html! {
        p { a data-back href="/dashboard" { "All conversations" } }
        (facts::facts(conversation))
        (lineage::lineage(page))
        (facts::actions(&page.person, conversation))
        (depths(page))
        (events(page))
        script type="module" src=(TRANSCRIPT.path()) {}
    };
    document(&frame, &main)
}

fn depths(page: TranscriptPage<'_>) -> Markup {
    let path = path(page.conversation.id.as_str());
    html! {
        div.row {
            nav.views aria-label="Depth" {
                @for depth in Depth::ALL {
                    a.chip href={ (path) "?depth=" (depth.as_str()) } aria-current=[(depth == page.depth).then_some("true")] {
                        (depth.label())
                    }
                }
            }
            form.views method="get" action=(path) {
                input type="hidden" name="depth" value=(page.depth.as_str());
                label for="at" { "Go to event" }
                input #at type="number" name="at" min="1" max=(page.conversation.head.version) required;
                button type="submit" { "Go" }
            }
            span.views data-needs-script hidden {
                label for="page-search" { "Search on this page" }
                input #page-search type="search" data-page-search data-filter autocomplete="off" spellcheck="false";
                span #page-search-status.muted role="status" {}
                button.quiet type="button" data-open-all { "Open all" }
            }
        }
    }
}

fn events(page: TranscriptPage<'_>) -> Markup {
    let id = page.conversation.id.as_str();
    let of = event::Of {
        conversation: id,
        prices: page.prices,
        read_versions: &steps::read_versions(page.events, page.step_start),
    };
    let (first, last) = (page.events.first(), page.events.last());
    let version_of = |event: Option<&EventOfTranscript>| event.map(|event| event.recorded.version);
    let newest = page.conversation.head.version;
    let through = if page.has_later { version_of(last).unwrap_or_default() } else { newest };
    let none = EmptyState {
        title: "Nothing to show here",
        detail: "No event in this range belongs to this depth.",
        action: Some(("Show everything", "?depth=everything")),
    };
    html! {
        @if page.has_earlier {
            (page_link(page, "before", version_of(first).unwrap_or(newest.next()), "Earlier events"))
        }
        @if page.events.is_empty() { (empty(none)) }
        ol #events.transcript data-conversation=(id) data-depth=(page.depth.as_str()) data-through=(through)
            data-live[!page.has_later] {
            @for entry in entries::entries(page.events) {
                (event::entry(of, &entry))
            }
        }
        @if page.has_later {
            (page_link(page, "after", version_of(last).unwrap_or_default(), "Later events"))
        } @else {
            p #live.muted role="status" data-needs-script hidden { "New events appear here." }
        }
    }
}

fn page_link(page: TranscriptPage<'_>, parameter: &str, version: Version, text: &str) -> Markup {
    let path = path(page.conversation.id.as_str());
    html! {
        nav.pages aria-label=(text) {
            a.button href={ (path) "?depth=" (page.depth.as_str()) "&" (parameter) "=" (version) } { (text) }
        }
    }
}

#[cfg(test)]
mod tests;
