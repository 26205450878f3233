//! The page of every error: what is wrong, and the next step.

use maud::{Markup, html};

use crate::layout::{Frame, Freshness, document};

/// An error.
#[derive(Debug, Clone, Copy)]
pub struct ProblemPage<'a> {
    /// The status of the response.
    pub status: u16,
    /// The stable code.
    pub code: &'a str,
    /// What is wrong, and how to correct it.
    pub detail: &'a str,
    /// The wait before a retry, in seconds.
    pub retry_after_s: Option<u64>,
}

/// The page of an error.
#[must_use]
pub fn problem(page: ProblemPage<'_>) -> Markup {
    let (title, next) = title_and_next_step(page.status);
    let frame = Frame { title, person: None, section: None, freshness: Freshness::None };
    let main = html! {
        div.card.narrow {
            p { (page.detail) }
            p.muted { (next) }
            @if let Some(seconds) = page.retry_after_s {
                p.muted { "Try again in " (seconds) " s." }
            }
            p.muted { "Status " (page.status) ", " code { (page.code) } }
            div.row {
                a.button.primary href="/dashboard" { "To the conversations" }
                @if page.status == 401 {
                    a.button href="/dashboard/sign-in" { "Sign in" }
                }
            }
        }
    };
    document(&frame, &main)
}

/// The title of a status, and what the reader can do.
fn title_and_next_step(status: u16) -> (&'static str, &'static str) {
    match status {
        401 => ("Your session has ended", "Sign in again. Go back afterwards: the browser keeps what you typed."),
        403 => ("Your role does not allow this", "Ask an administrator of the tenant, or go back."),
        404 => ("Not found", "It does not exist, was erased, or is not of this tenant. Check the address."),
        408 | 429 => ("Too many requests", "Wait, then reload the page. Nothing was changed."),
        400..=499 => ("This request cannot be answered", "Go back, correct it and send it again."),
        _ => (
            "The service does not answer",
            "Reload the page in a moment. If it stays, tell an operator the time and the code.",
        ),
    }
}
