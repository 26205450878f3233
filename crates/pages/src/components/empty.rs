//! What a list shows when it has nothing: the query, why it may be empty, and what to do next.

use maud::{Markup, html};

/// Why nothing is shown, and the next step.
#[derive(Debug, Clone, Copy)]
pub struct EmptyState<'a> {
    /// One line, such as `No conversation matches`.
    pub title: &'a str,
    /// The query and the range that were searched.
    pub detail: &'a str,
    /// A link that helps: its text and its URL.
    pub action: Option<(&'a str, &'a str)>,
}

/// The state of an empty list.
#[must_use]
pub fn empty(state: EmptyState<'_>) -> Markup {
    html! {
        div.card.empty {
            h2 { (state.title) }
            p.muted { (state.detail) }
            @if let Some((text, href)) = state.action {
                p { a.button href=(href) { (text) } }
            }
        }
    }
}
