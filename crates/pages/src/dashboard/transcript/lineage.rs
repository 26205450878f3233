//! The tree of forks: the conversations that a conversation continues, and those that continue it.

use maud::{Markup, html};

use super::{TranscriptPage, path};

/// A conversation that continues another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkOfTranscript {
    /// Its id.
    pub id: String,
    /// The conversation that it continues.
    pub parent: String,
}

/// The tree; nothing without ancestors and forks.
pub(super) fn lineage(page: TranscriptPage<'_>) -> Markup {
    let id = page.conversation.id.as_str();
    let forked_from = page.conversation.head.forked_from.as_ref();
    html! {
        @if !page.ancestors.is_empty() || !page.forks.is_empty() {
            details.card open[page.forks.len() <= 10] {
                summary { "Forks" }
                @if let Some(point) = forked_from {
                    p { "Continues " (link(point.conversation.as_str())) " after event " (point.version) "." }
                }
                (ancestors(page.ancestors, id, page.forks))
                @if page.has_more_forks { p.muted { "There are more forks than are shown." } }
            }
        }
    }
}

/// The oldest ancestor contains the next one, and so on down to the conversation.
fn ancestors(older: &[String], id: &str, forks: &[ForkOfTranscript]) -> Markup {
    html! {
        ul.tree {
            @if let Some((oldest, nearer)) = older.split_last() {
                li { (link(oldest)) (ancestors(nearer, id, forks)) }
            } @else {
                li { strong aria-current="page" { (id) } (children(id, forks)) }
            }
        }
    }
}

fn children(parent: &str, forks: &[ForkOfTranscript]) -> Markup {
    let own: Vec<_> = forks.iter().filter(|fork| fork.parent == parent).collect();
    html! {
        @if !own.is_empty() {
            ul.tree {
                @for fork in own {
                    li { (link(&fork.id)) (children(&fork.id, forks)) }
                }
            }
        }
    }
}

fn link(id: &str) -> Markup {
    html! { a href=(path(id)) { (id) } }
}
