//! `/dashboard/sign-in`: how to sign in.

use maud::{Markup, html};

use crate::layout::{Frame, Freshness, document};

/// The ways to sign in.
#[derive(Debug, Clone, Copy)]
pub struct SignInPage<'a> {
    /// The URL that starts the sign-in at the provider; `None`: no provider is configured.
    pub provider: Option<&'a str>,
}

/// The page of somebody who is not signed in.
#[must_use]
pub fn sign_in(page: SignInPage<'_>) -> Markup {
    let frame = Frame { title: "Sign in", person: None, section: None, freshness: Freshness::None };
    let main = html! {
        div.card.narrow {
            @if let Some(provider) = page.provider {
                p { "Sign in with the account of your organisation." }
                p { a.button.primary href=(provider) { "Sign in" } }
            } @else {
                p { "Signing in needs a link, which an operator creates:" }
                pre { code { "hansard dashboard link --tenant TENANT --name NAME --role viewer" } }
                p.muted { "The link works once and ends after ten minutes." }
            }
        }
    };
    document(&frame, &main)
}
