//! `/dashboard/settings/agents/{agent}/keys`: the API keys of an agent.

use domain::Timestamp;
use maud::{Markup, html};

use super::{NewSecret, Tab, frame, new_secret, tabs};
use crate::components::{Tone, badge, form, notice, time};
use crate::layout::{Person, document};

/// An API key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKeyRow {
    /// Its id.
    pub id: String,
    /// Its purpose.
    pub name: String,
    /// The web origins that may use it.
    pub origins: Vec<String>,
    /// When it was created.
    pub created_at: Option<Timestamp>,
    /// When it ends, or has ended; `None`: it has no end.
    pub ends_at: Option<Timestamp>,
    /// Whether it is valid.
    pub is_valid: bool,
    /// Whether it is valid, and ends soon.
    pub is_ending: bool,
    /// When it was last used; `None`: no use is known.
    pub last_used_at: Option<Timestamp>,
}

/// A form that was rejected, with what was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RejectedKeyForm<'a> {
    /// The key; empty: a new one.
    pub key: &'a str,
    /// The typed name of a new key.
    pub name: &'a str,
    /// The typed origins.
    pub origins: &'a str,
    /// What is wrong.
    pub error: &'a str,
}

/// The values of the page.
#[derive(Clone, Copy)]
pub struct ApiKeysPage<'a> {
    /// The signed-in person.
    pub person: Person<'a>,
    /// The agent.
    pub agent: &'a str,
    /// The keys: valid ones first.
    pub keys: &'a [ApiKeyRow],
    /// The key that was created.
    pub new: Option<NewSecret<'a>>,
    /// The form that was rejected.
    pub rejected: Option<RejectedKeyForm<'a>>,
}

/// The keys, each with its forms, and the form of a new one.
#[must_use]
pub fn api_keys(page: ApiKeysPage<'_>) -> Markup {
    let title = format!("API keys of {}", page.agent);
    let main = html! {
        (tabs(page.agent, Tab::Keys))
        @if let Some(new) = page.new { (new_secret(new)) }
        @if let Some(rejected) = page.rejected { (notice(Tone::Bad, rejected.error)) }
        section.card.stacked { h2 { "New key" } (create(page)) }
        @for key in page.keys { (self::key(page, key)) }
    };
    document(&frame(page.person, &title), &main)
}

fn create(page: ApiKeysPage<'_>) -> Markup {
    let typed = page.rejected.filter(|rejected| rejected.key.is_empty());
    let (name, typed) = typed.map_or(("", ""), |typed| (typed.name, typed.origins));
    let content = html! {
        div.field {
            label for="name" { "Name" }
            input #name type="text" name="name" value=(name) maxlength="256" autocomplete="off";
        }
        (origins("new", typed))
        button.primary type="submit" { "Create" }
    };
    form(&page.person, &Tab::Keys.path(page.agent), &content)
}

fn origins(id: &str, value: &str) -> Markup {
    html! {
        div.field {
            label for={ "origins-" (id) } { "Origins" }
            textarea id={ "origins-" (id) } name="origins" rows="3" spellcheck="false" aria-describedby={ "origins-" (id) "-help" } { "\n" (value) }
            span.help id={ "origins-" (id) "-help" } {
                "One a line, such as https://shop.example; * is any, and without an origin no browser may use the key."
            }
        }
    }
}

fn key(page: ApiKeysPage<'_>, key: &ApiKeyRow) -> Markup {
    html! {
        section.card aria-labelledby={ "key-" (key.id) } {
            h2 id={ "key-" (key.id) } { code { (key.id) } " " span dir="auto" { (key.name) } }
            dl.facts {
                dt { "State" }
                dd {
                    @if key.is_ending { (badge(Tone::Warn, "ends soon")) } @else if key.is_valid { (badge(Tone::Good, "valid")) } @else { (badge(Tone::Neutral, "ended")) }
                }
                dt { "Origins" }
                dd {
                    @if key.origins.is_empty() { span.muted { "none" } }
                    ul { @for origin in &key.origins { li { code { (origin) } } } }
                }
                @if let Some(at) = key.created_at { dt { "Created" } dd { (time(at)) } }
                @if let Some(at) = key.ends_at { dt { "Ends" } dd { (time(at)) } }
                dt { "Last used" }
                dd { @if let Some(at) = key.last_used_at { (time(at)) } @else { span.muted { "not known" } } }
            }
            @if key.is_valid { (changes(page, key)) }
        }
    }
}

fn changes(page: ApiKeysPage<'_>, key: &ApiKeyRow) -> Markup {
    let path = |action: &str| format!("{}/{}/{action}", Tab::Keys.path(page.agent), key.id);
    let id = &key.id;
    let typed = page.rejected.filter(|rejected| rejected.key == key.id);
    let current = key.origins.join("\n");
    let typed_origins = typed.map_or(current.as_str(), |typed| typed.origins);
    let change = html! { (origins(id, typed_origins)) button type="submit" { "Set the origins" } };
    let rotate = html! {
        div.field {
            label for={ "overlap-" (id) } { "The old key stays valid for, in seconds" }
            input id={ "overlap-" (id) } type="number" name="overlap" min="0" max="2592000" value="86400" required;
        }
        button type="submit" { "Create the next key" }
    };
    let revoke = html! {
        div.field {
            label for={ "confirm-" (id) } { "Type the id of the key to revoke it now" }
            input id={ "confirm-" (id) } type="text" name="confirmation" required autocomplete="off" spellcheck="false" maxlength="64";
        }
        button.danger type="submit" { "Revoke" }
    };
    html! {
        div.stacked {
            details open[typed.is_some()] { summary { "Change the origins" } (form(&page.person, &path("origins"), &change)) }
            details { summary { "Rotate" } (form(&page.person, &path("rotate"), &rotate)) }
            details { summary { "Revoke" } (form(&page.person, &path("revoke"), &revoke)) }
        }
    }
}
