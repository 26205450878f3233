//! `/dashboard/sign-in/link`: asks before a one-time link is used, so that a preview of the link does not use it.

use identity::Role;
use maud::{Markup, html};

use crate::layout::{Frame, Freshness, document};

/// The link and whom it signs in. No `Debug`: the token is a secret.
#[derive(Clone, Copy)]
pub struct SignInLinkPage<'a> {
    /// The person's name.
    pub name: &'a str,
    /// The tenant.
    pub tenant: &'a str,
    /// The role.
    pub role: Role,
    /// The token of the link.
    pub token: &'a str,
}

/// The page that uses the link on request.
#[must_use]
pub fn sign_in_link(page: SignInLinkPage<'_>) -> Markup {
    let frame = Frame { title: "Sign in", person: None, section: None, freshness: Freshness::None };
    let main = html! {
        div.card.narrow {
            p {
                "Sign in as " strong { (page.name) } ", " (page.role.as_str()) " of " strong { (page.tenant) } "?"
            }
            p.muted { "The link works once." }
            form method="post" action="/dashboard/sign-in/link" {
                input type="hidden" name="token" value=(page.token);
                button.primary type="submit" autofocus { "Sign in" }
            }
        }
    };
    document(&frame, &main)
}
