//! After the sign-in at a provider: the tenants that the person may see.

use identity::Role;
use maud::{Markup, html};

use crate::layout::{Frame, Freshness, document};

/// A tenant, with a one-time link. No `Debug`: the token is a secret.
#[derive(Clone)]
pub struct TenantChoice {
    /// The tenant.
    pub tenant: String,
    /// The person's role there.
    pub role: Role,
    /// The token of the link.
    pub token: String,
}

/// The tenants of a person.
#[derive(Clone, Copy)]
pub struct ChooseTenantPage<'a> {
    /// The tenants, by id.
    pub choices: &'a [TenantChoice],
}

/// The page that asks for the tenant.
#[must_use]
pub fn choose_tenant(page: ChooseTenantPage<'_>) -> Markup {
    let frame = Frame { title: "Choose a tenant", person: None, section: None, freshness: Freshness::None };
    let main = html! {
        ul.card.narrow {
            @for choice in page.choices {
                li {
                    form method="post" action="/dashboard/sign-in/link" {
                        input type="hidden" name="token" value=(choice.token);
                        button type="submit" { (choice.tenant) " " span.muted { (choice.role.as_str()) } }
                    }
                }
            }
        }
    };
    document(&frame, &main)
}
