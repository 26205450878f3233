//! Links to the other pages of a list.

use maud::{Markup, html};

/// The URLs of the other pages.
#[derive(Debug, Clone, Copy, Default)]
pub struct PageLinks<'a> {
    /// The first page; `None`: this is the first.
    pub first: Option<&'a str>,
    /// The next page; `None`: this is the last.
    pub next: Option<&'a str>,
}

/// Links to the first and the next page; nothing if there is one page only.
#[must_use]
pub fn pagination(links: PageLinks<'_>) -> Markup {
    html! {
        @if links.first.is_some() || links.next.is_some() {
            nav.pages aria-label="Pages" {
                @if let Some(first) = links.first {
                    a.button href=(first) { "First page" }
                } @else {
                    span {}
                }
                @if let Some(next) = links.next {
                    a.button href=(next) rel="next" { "Next page" }
                }
            }
        }
    }
}
