//! `/dashboard/conversations/{id}/context`: what the model reads at a version, by section, with what was left out and why.

mod column;
mod diff;
mod request;

use domain::Version;
use maud::{Markup, html};

use super::transcript::{event_url, path};
use crate::components::{Column, Tone, notice, number, table};
use crate::layout::{Frame, Freshness, Person, Section, document};

pub(super) use column::column;
pub use column::{ContextColumn, PieceOfContext, ReusedPrefix, TokensOfSection};
pub use diff::{DIFF_BYTES_MAX, DIFF_LINES_MAX, Difference};
pub use request::ContextForm;

/// An event, and what became of it in the context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventOfContext {
    /// Its version.
    pub version: Version,
    /// What it is, such as `user` or `call of search`.
    pub what: String,
    /// The start of its text.
    pub excerpt: String,
    /// Its tokens.
    pub tokens: u64,
    /// What the stages did, such as `omitted: the budget has no room`.
    pub outcome: String,
    /// The stages that did it; empty: none did anything.
    pub stages: String,
    /// Whether the model does not read it.
    pub is_omitted: bool,
}

/// The result of a verification of a receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// Whether the context is equal.
    pub is_equal: bool,
    /// What was compared, or how they differ.
    pub text: String,
}

/// The values of the page.
#[derive(Clone, Copy)]
pub struct ContextPage<'a> {
    /// The signed-in person.
    pub person: Person<'a>,
    /// The conversation.
    pub conversation: &'a str,
    /// What was requested.
    pub form: ContextForm<'a>,
    /// The context as it is sent.
    pub sent: &'a ContextColumn,
    /// The context by another policy or budget.
    pub other: Option<&'a ContextColumn>,
    /// Why the other policy gives no context.
    pub other_error: Option<&'a str>,
    /// The newest events that models read, oldest first.
    pub events: &'a [EventOfContext],
    /// Whether older events are not listed.
    pub has_older_events: bool,
    /// The context that is compared, and the difference.
    pub difference: Option<(Version, &'a Difference)>,
    /// The receipt as JSON.
    pub receipt: &'a str,
    /// The verification of a receipt, if one was requested.
    pub verification: Option<&'a Verification>,
}

/// What the model reads.
#[must_use]
pub fn context(page: ContextPage<'_>) -> Markup {
    let title = format!("What the model reads at event {}", page.form.version);
    let frame = Frame {
        title: &title,
        person: Some(page.person),
        section: Some(Section::Conversations),
        freshness: Freshness::Current,
    };
    let main = html! {
        p {
            a data-back href=(event_url(page.conversation, page.form.version)) { "Back to the transcript" }
        }
        (request::forms(&page.person, page.conversation, page.form))
        @if let Some(error) = page.other_error { (notice(Tone::Bad, error)) }
        @if let Some(verification) = page.verification { (verified(verification)) }
        div.columns {
            section aria-label="Events" { h2 { "Events and their outcome" } (events(page)) }
            section aria-label="Context as sent" { (column(page.sent)) }
            @if let Some(other) = page.other {
                section aria-label="Context by the other policy" { (column(other)) }
            }
        }
        @if let Some((before, difference)) = page.difference {
            section.card {
                h2 { "Difference to the context at event " (before) }
                (diff::difference(difference))
            }
        }
        (receipt(page))
    };
    document(&frame, &main)
}

fn events(page: ContextPage<'_>) -> Markup {
    let columns = [Column::text("Event"), Column::text("What"), Column::number("Tokens"), Column::text("Outcome")];
    let row = |event: &EventOfContext| {
        html! {
            tr.omitted[event.is_omitted] data-version=(event.version) {
                th scope="row" {
                    a data-row href=(event_url(page.conversation, event.version)) { "#" (event.version) }
                }
                td { strong { (event.what) } span.excerpt dir="auto" { (event.excerpt) } }
                td.number { (number(event.tokens)) }
                td {
                    (event.outcome)
                    @if !event.stages.is_empty() { div.muted { "stage: " (event.stages) } }
                }
            }
        }
    };
    let rows: Vec<Markup> = page.events.iter().map(row).collect();
    html! {
        @if page.has_older_events {
            p.muted { "Older events are not listed one by one; the tokens and the omitted ranges of the context include them." }
        }
        (table("Events and their outcome", &columns, &rows))
    }
}

fn verified(verification: &Verification) -> Markup {
    let tone = if verification.is_equal { Tone::Good } else { Tone::Bad };
    notice(tone, &verification.text)
}

/// The receipt of the context, with the form that verifies it or another one.
fn receipt(page: ContextPage<'_>) -> Markup {
    let content = html! {
        div.field {
            label for="receipt" { "Receipt" }
            textarea #receipt name="receipt" rows="8" spellcheck="false" { (page.receipt) }
            span.help { "The receipt of the context above. Replace it by a stored receipt of this conversation to verify that one." }
        }
        div.row {
            button.primary type="submit" { "Verify" }
            span.muted { "The context is assembled again and compared byte for byte." }
        }
    };
    let action = format!("{}/context/verify", path(page.conversation));
    html! {
        details.card open[page.verification.is_some()] {
            summary { "Receipt" }
            (crate::components::form(&page.person, &action, &content))
        }
    }
}

#[cfg(test)]
mod tests;
