//! `/dashboard/conversations/{id}/erase`: what an erasure would remove; `…/erasure`: its receipt.

use domain::{CommitId, Timestamp};
use maud::{Markup, html};

use super::transcript::path;
use crate::components::{Column, Tone, bytes, form, notice, number, table, time};
use crate::layout::{Frame, Freshness, Person, Section, document};

/// What an erasure of a conversation removes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToErase {
    /// The conversation.
    pub id: String,
    /// Its own events, without those that it inherits.
    pub events: u64,
    /// The bytes of these events.
    pub event_bytes: u64,
    /// Its commits in the record.
    pub commits: u64,
    /// Its commits in the archive.
    pub archived_commits: u64,
    /// Stored batches of streamed parts.
    pub part_batches: u64,
    /// Logged calls of model servers.
    pub logged_calls: u64,
}

/// The values of the preview.
#[derive(Clone, Copy)]
pub struct ErasePage<'a> {
    /// The signed-in person.
    pub person: Person<'a>,
    /// The conversation, and then its forks, the nearest first.
    pub removed: &'a [ToErase],
    /// Whether there are more forks than one erasure removes.
    pub has_too_many_forks: bool,
    /// What was wrong with the form.
    pub error: Option<&'a str>,
}

/// The preview, with the form that erases.
#[must_use]
pub fn erase(page: ErasePage<'_>) -> Markup {
    let id = page.removed.first().map_or("", |first| first.id.as_str());
    let frame = frame(page.person, "Erase a conversation");
    let forks = page.removed.len().saturating_sub(1);
    let columns = [
        Column::text("Conversation"),
        Column::number("Events"),
        Column::number("Size"),
        Column::number("Commits in the record"),
        Column::number("Commits in the archive"),
        Column::number("Batches of streamed parts"),
        Column::number("Logged calls"),
    ];
    let rows: Vec<Markup> = page.removed.iter().map(row).collect();
    let main = html! {
        p { a data-back href=(path(id)) { "Back to the transcript" } }
        @if let Some(error) = page.error { (notice(Tone::Bad, error)) }
        p {
            "The erasure removes this conversation"
            @if forks > 0 { " and the " (number(u64::try_from(forks).unwrap_or(u64::MAX))) " forks that read through it" }
            ". It cannot be undone. Backups that were made before keep their copy until they expire."
        }
        (table("What is removed", &columns, &rows))
        @if page.has_too_many_forks {
            (notice(Tone::Bad, "There are too many forks for one erasure: erase some of them first."))
        } @else {
            div.card.narrow { (form(&page.person, &format!("{}/erase", path(id)), &confirmation(id, forks))) }
        }
    };
    document(&frame, &main)
}

fn confirmation(id: &str, forks: usize) -> Markup {
    html! {
        input type="hidden" name="forks" value=(forks);
        div.field {
            label for="confirmation" { "Type the id of the conversation to confirm" }
            code { (id) }
            input #confirmation type="text" name="confirmation" required autocomplete="off" spellcheck="false" maxlength="128";
        }
        button.danger type="submit" { "Erase for ever" }
    }
}

fn row(one: &ToErase) -> Markup {
    let counts = [
        ("commits", one.commits),
        ("archived", one.archived_commits),
        ("parts", one.part_batches),
        ("logs", one.logged_calls),
    ];
    html! {
        tr data-conversation=(one.id) {
            th scope="row" { code { (one.id) } }
            td.number data-count="events" { (number(one.events)) }
            td.number data-bytes=(one.event_bytes) { (bytes(one.event_bytes)) }
            @for (name, count) in counts { td.number data-count=(name) { (number(count)) } }
        }
    }
}

/// The state of an erasure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasureReceipt {
    /// The conversation.
    pub id: String,
    /// The commit of the tombstone.
    pub commit: CommitId,
    /// When it was recorded.
    pub erased_at: Timestamp,
    /// Commits in the record that are not overwritten yet.
    pub commits_left: u64,
    /// Batches of streamed parts that are not overwritten yet.
    pub parts_left: u64,
    /// Logged calls in the record that are not overwritten yet.
    pub logs_left: u64,
    /// Events that are still in rows.
    pub rows_left: u64,
}

impl ErasureReceipt {
    fn is_complete(&self) -> bool {
        self.commits_left + self.parts_left + self.logs_left + self.rows_left == 0
    }
}

/// The receipt: what every store says now.
#[must_use]
pub fn erasure(person: Person<'_>, receipt: &ErasureReceipt) -> Markup {
    let frame = frame(person, "Erased");
    let stores = [
        ("Commits in the record", receipt.commits_left),
        ("Batches of streamed parts", receipt.parts_left),
        ("Logged calls in the record", receipt.logs_left),
        ("Events in rows", receipt.rows_left),
    ];
    let columns = [Column::text("Store"), Column::number("Left"), Column::text("State")];
    let rows: Vec<Markup> = stores.iter().map(|(name, left)| store(name, *left)).collect();
    let main = html! {
        p { a data-back href="/dashboard" { "All conversations" } }
        @if receipt.is_complete() {
            (notice(Tone::Good, "Erased, and overwritten in every store of this deployment."))
        } @else {
            (notice(Tone::Warn, "Erased: it cannot be read any more. Some stores are still overwriting it: reload this page."))
        }
        dl.facts.card {
            dt { "Conversation" } dd { code { (receipt.id) } }
            dt { "Tombstone" } dd { code { (receipt.commit) } }
            dt { "Erased at" } dd { (time(receipt.erased_at)) }
        }
        (table("Stores", &columns, &rows))
        p.muted {
            "Sealed segments of the archive and backups are rewritten by the operator: "
            code { "hansard archive run" } " and " code { "hansard erase" } ". A signed receipt is printed by " code { "hansard erase" } "."
        }
    };
    document(&frame, &main)
}

fn store(name: &str, left: u64) -> Markup {
    html! {
        tr {
            th scope="row" { (name) }
            td.number { (number(left)) }
            td { @if left == 0 { "confirmed" } @else { "in progress" } }
        }
    }
}

fn frame<'a>(person: Person<'a>, title: &'a str) -> Frame<'a> {
    Frame { title, person: Some(person), section: Some(Section::Conversations), freshness: Freshness::Current }
}
