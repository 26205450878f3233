//! The frame of every page: head, navigation, heading, freshness and the help of keys.

use domain::Timestamp;
use identity::Role;
use maud::{DOCTYPE, Markup, html};

use crate::assets::{DASHBOARD, ICON, STYLE};
use crate::components::{form, time};

pub use crate::person::Person;

/// A section of the dashboard, an entry of its navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// The list of conversations, and the transcripts.
    Conversations,
    /// Tokens by day, agent and model.
    Usage,
    /// Agents, keys and webhooks.
    Settings,
    /// Who viewed, exported and erased what.
    Audit,
    /// Health, lag and parked conversations.
    System,
}

impl Section {
    /// Every section, in the order of the navigation.
    pub const ALL: [Self; 5] = [Self::Conversations, Self::Usage, Self::Settings, Self::Audit, Self::System];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Conversations => "Conversations",
            Self::Usage => "Usage",
            Self::Settings => "Settings",
            Self::Audit => "Audit log",
            Self::System => "System",
        }
    }

    /// The path of its first page.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::Conversations => "/dashboard",
            Self::Usage => "/dashboard/usage",
            Self::Settings => "/dashboard/settings",
            Self::Audit => "/dashboard/audit",
            Self::System => "/dashboard/system",
        }
    }

    /// The lowest role that may see it.
    #[must_use]
    pub fn role(self) -> Role {
        match self {
            Self::Conversations | Self::Usage => Role::Viewer,
            Self::Settings | Self::Audit => Role::Administrator,
            Self::System => Role::Operator,
        }
    }
}

/// Up to when the data of a page is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// The page shows no recorded data.
    None,
    /// The page was read from the record: everything that was acknowledged.
    Current,
    /// The page was read from rows, which contain every commit up to this time.
    UpTo(Timestamp),
}

/// What is around the content of a page.
#[derive(Clone, Copy)]
pub struct Frame<'a> {
    /// The title, without the product's name.
    pub title: &'a str,
    /// The signed-in person; `None`: nobody is signed in, and the page has no navigation.
    pub person: Option<Person<'a>>,
    /// The section that the page belongs to.
    pub section: Option<Section>,
    /// Up to when the data is complete.
    pub freshness: Freshness,
}

/// A whole document.
#[must_use]
pub fn document(frame: &Frame<'_>, main: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex";
                title { (frame.title) " · Hansard" }
                link rel="icon" href=(ICON.path());
                link rel="stylesheet" href=(STYLE.path());
                script type="module" src=(DASHBOARD.path()) {}
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                (top(frame))
                main #main tabindex="-1" {
                    div.heading {
                        h1 { (frame.title) }
                        (freshness(frame.freshness))
                    }
                    (main)
                }
                (keys())
            }
        }
    }
}

fn top(frame: &Frame<'_>) -> Markup {
    html! {
        header.top {
            a.brand href="/dashboard" { img src=(ICON.path()) alt="" width="20" height="20"; "Hansard" }
            @if let Some(person) = &frame.person {
                (navigation(person.role, frame.section))
                (signed_in(person))
            }
        }
    }
}

fn navigation(role: Role, current: Option<Section>) -> Markup {
    let visible = Section::ALL.into_iter().filter(|section| role >= section.role());
    html! {
        nav aria-label="Sections" {
            ul {
                @for section in visible {
                    li {
                        a href=(section.path()) aria-current=[(current == Some(section)).then_some("page")] {
                            (section.name())
                        }
                    }
                }
            }
        }
    }
}

fn signed_in(person: &Person<'_>) -> Markup {
    let sign_out = html! { button.quiet type="submit" { "Sign out" } };
    html! {
        div.person {
            span {
                strong { (person.name) } ", " (person.role.as_str()) " of " strong { (person.tenant) }
            }
            (form(person, "/dashboard/sign-out", &sign_out))
        }
    }
}

fn freshness(freshness: Freshness) -> Markup {
    html! {
        @match freshness {
            Freshness::None => {},
            Freshness::Current => p.freshness { "Current" },
            Freshness::UpTo(at) => p.freshness { "Indexed up to " (time(at)) },
        }
    }
}

/// The help of keys, which `?` opens.
fn keys() -> Markup {
    const KEYS: [(&str, &str); 5] = [
        ("J", "next row"),
        ("K", "previous row"),
        ("/", "go to the filter"),
        ("Esc", "leave a field; back to the list"),
        ("?", "this help"),
    ];
    html! {
        footer.foot {
            p data-needs-script hidden { kbd { "?" } "shows the keys" }
        }
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keys" }
            dl {
                @for (key, meaning) in KEYS {
                    dt { kbd { (key) } }
                    dd { (meaning) }
                }
            }
            form method="dialog" { button type="submit" autofocus { "Close" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(role: Role) -> String {
        let person = Person { name: "<script>alert(1)</script>", tenant: "acme", role, form_token: "secret" };
        let frame = Frame {
            title: "Conversations",
            person: Some(person),
            section: Some(Section::Conversations),
            freshness: Freshness::Current,
        };
        document(&frame, &html! {}).into_string()
    }

    #[test]
    fn navigation_follows_the_role() {
        for role in Role::ALL {
            let page = page(role);
            for section in Section::ALL {
                let link = format!("<a href=\"{}\"", section.path());
                assert_eq!(page.contains(&link), role >= section.role(), "{section:?}");
            }
        }
    }

    #[test]
    fn names_are_escaped_and_nothing_is_inline() {
        let page = page(Role::Operator);
        assert!(page.contains("&lt;script&gt;alert(1)"));
        assert!(!page.contains("style="));
        assert_eq!(page.matches("<script").count(), 1);
    }
}
