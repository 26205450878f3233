//! One context: its tokens, the prefix that a cache can reuse, and its pieces in order.

use domain::Version;
use maud::{Markup, html};

use crate::components::{JSON_HEAD_BYTES, bytes, copy_button, indented_json, number};

/// Width of the bar, in the units of its view box.
const BAR_UNITS: u64 = 1_000;

/// The tokens of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokensOfSection {
    /// The name of the section.
    pub name: &'static str,
    /// Its tokens.
    pub tokens: u64,
}

/// A field, a message or a part of a message, as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PieceOfContext {
    /// The name of its section.
    pub section: &'static str,
    /// The version of its turn.
    pub version: Option<Version>,
    /// Its JSON, at most the head that is shown.
    pub json: String,
    /// The bytes of the whole piece.
    pub size_bytes: usize,
}

/// The prefix that two bodies share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReusedPrefix {
    /// The version of the earlier context.
    pub before: Version,
    /// Its length in bytes.
    pub bytes: usize,
    /// The index of the piece in which it ends; the number of pieces: it is the whole body.
    pub ends_in: usize,
}

/// A context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextColumn {
    /// The id of its elements; unique on the page.
    pub id: &'static str,
    /// Its heading.
    pub heading: String,
    /// The digest of its policy.
    pub policy: String,
    /// The SHA-256 of its body.
    pub sha256: String,
    /// The bytes of its body.
    pub size_bytes: usize,
    /// The URL of its whole body; `None`: it has none.
    pub body_url: Option<String>,
    /// The tokens of its sections, in order.
    pub sections: Vec<TokensOfSection>,
    /// The tokens that turns may take.
    pub room: u64,
    /// What the stages omitted or changed: versions, reason and stage.
    pub outcomes: Vec<String>,
    /// The prefix that it shares with an earlier context.
    pub prefix: Option<ReusedPrefix>,
    /// Its pieces, in order; only the last ones if there are too many.
    pub pieces: Vec<PieceOfContext>,
    /// How many pieces before them are not shown.
    pub pieces_not_shown: usize,
}

pub(in crate::dashboard) fn column(context: &ContextColumn) -> Markup {
    let used: u64 = context.sections.iter().map(|section| section.tokens).sum();
    html! {
        div.row {
            h2 { (context.heading) }
            @if let Some(url) = &context.body_url { a.button.quiet href=(url) download { "Download the body" } }
        }
        (bar(context, used))
        dl.facts {
            @for section in &context.sections {
                dt { (section.name) } dd { (number(section.tokens)) " tokens" }
            }
            dt { "Together" } dd { (number(used)) " tokens, " (size(context.size_bytes)) }
            dt { "Room for turns" } dd { (number(context.room)) " tokens" }
            dt { "Policy" } dd { code { (context.policy) } }
            dt { "SHA-256" } dd { code { (context.sha256) } }
            @if let Some(prefix) = &context.prefix { (reused(context, prefix)) }
        }
        @if !context.outcomes.is_empty() {
            ul.outcomes { @for text in &context.outcomes { li { (text) } } }
        }
        (pieces(context))
    }
}

fn size(size_bytes: usize) -> String {
    bytes(u64::try_from(size_bytes).unwrap_or(u64::MAX))
}

/// The tokens by section, as parts of the room that sections and turns have together.
fn bar(context: &ContextColumn, used: u64) -> Markup {
    let turns = context.sections.iter().find(|section| section.name == "Turns").map_or(0, |section| section.tokens);
    let all = used.saturating_sub(turns).saturating_add(context.room).max(used).max(1);
    let width = |tokens: u64| tokens.saturating_mul(BAR_UNITS) / all;
    let mut start = 0;
    let parts: Vec<_> = context
        .sections
        .iter()
        .map(|section| {
            let (from, width) = (start, width(section.tokens));
            start += width;
            (section, from, width)
        })
        .collect();
    let label = format!("{} of {} tokens", number(used), number(all));
    html! {
        svg.token-bar viewBox={ "0 0 " (BAR_UNITS) " 24" } preserveAspectRatio="none" role="img" aria-label=(label) {
            rect.room x="0" y="0" width=(BAR_UNITS) height="24" {}
            @for (section, from, width) in parts {
                rect class={ "section-" (section.name.to_ascii_lowercase()) } x=(from) y="0" width=(width) height="24" {
                    title { (section.name) ": " (number(section.tokens)) " tokens" }
                }
            }
        }
    }
}

fn reused(context: &ContextColumn, prefix: &ReusedPrefix) -> Markup {
    let percent = prefix.bytes.saturating_mul(100) / context.size_bytes.max(1);
    html! {
        dt { "Prefix that a cache can reuse" }
        dd {
            meter min="0" max="100" value=(percent) aria-label="Share of the body" { (percent) " %" }
            " " (percent) " %, " span data-prefix-bytes=(prefix.bytes) { (size(prefix.bytes)) }
            ", equal to the context at event " (prefix.before)
        }
    }
}

fn pieces(context: &ContextColumn) -> Markup {
    let ends_in = context.prefix.as_ref().map(|prefix| prefix.ends_in);
    html! {
        @if context.pieces_not_shown > 0 {
            p.muted { (number(u64::try_from(context.pieces_not_shown).unwrap_or(u64::MAX))) " earlier pieces are not shown." }
        }
        ol.pieces {
            @for (index, piece) in (context.pieces_not_shown..).zip(&context.pieces) {
                @if ends_in == Some(index) {
                    li.prefix-end { "The reusable prefix ends in this piece" }
                }
                (self::piece(context, index, piece))
            }
        }
    }
}

fn piece(context: &ContextColumn, index: usize, piece: &PieceOfContext) -> Markup {
    let id = format!("{}-{index}", context.id);
    let text = indented_json(&piece.json);
    let shown = text.get(..text.floor_char_boundary(JSON_HEAD_BYTES)).unwrap_or_default();
    let is_whole = piece.json.len() == piece.size_bytes && shown.len() == text.len();
    html! {
        li class={ "piece section-" (piece.section.to_ascii_lowercase()) } data-version=[piece.version] {
            details.json {
                summary {
                    (piece.section)
                    @if let Some(version) = piece.version { " of event " (version) }
                    " " span.number { (size(piece.size_bytes)) }
                }
                pre id=(id) tabindex="0" { code { (shown) } }
                div.row {
                    (copy_button(&id))
                    @if !is_whole {
                        span.muted { "The first " (bytes(4 * 1024)) " are shown." }
                        @if let Some(url) = &context.body_url { a href=(url) download { "Download the body" } }
                    }
                }
            }
        }
    }
}
