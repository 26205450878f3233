//! `/dashboard/settings/signing-keys`: the keys that verify tokens of the tenant's users and administrators.

use domain::Timestamp;
use maud::{Markup, html};

use super::{NewSecret, SETTINGS_PATH, SIGNING_KEYS_PATH, frame, new_secret};
use crate::components::{Column, Tone, badge, form, notice, table, time};
use crate::layout::{Person, document};

/// The uses of a key: value and label.
pub const KEY_USES: [(&str, &str); 2] = [("user", "users of the agents"), ("admin", "administrators of the tenant")];
/// The kinds of a new key: value and label.
pub const KEY_KINDS: [(&str, &str); 4] = [
    ("generate", "HS256, with a new secret that is shown once"),
    ("secret", "HS256, with this secret"),
    ("jwks", "RS256, ES256 or EdDSA, with this JWK set"),
    ("url", "RS256, ES256 or EdDSA, with the JWK set at this URL"),
];

/// A signing key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningKeyRow {
    /// Its id.
    pub id: String,
    /// Whose tokens it verifies.
    pub key_use: &'static str,
    /// Its kind: `HS256`, `JWK set` or a URL.
    pub kind: String,
    /// When it was added.
    pub created_at: Option<Timestamp>,
    /// When it ends, or has ended; `None`: it has no end.
    pub ends_at: Option<Timestamp>,
    /// Whether it is valid, and expires soon.
    pub is_ending: bool,
    /// When it last verified a token; `None`: no use is known.
    pub last_used_at: Option<Timestamp>,
}

/// What was typed for a new key.
#[derive(Clone, Copy, Default)]
pub struct TypedSigningKey<'a> {
    /// The id.
    pub id: &'a str,
    /// The use.
    pub key_use: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// The JWK set or the URL. A secret is not shown again.
    pub material: &'a str,
}

/// The values of the page.
#[derive(Clone, Copy)]
pub struct SigningKeysPage<'a> {
    /// The signed-in person.
    pub person: Person<'a>,
    /// The keys, by id.
    pub keys: &'a [SigningKeyRow],
    /// The key that was created.
    pub new: Option<NewSecret<'a>>,
    /// What was typed.
    pub typed: TypedSigningKey<'a>,
    /// What is wrong with the form that was sent.
    pub error: Option<&'a str>,
}

/// The keys, and the forms that add and retire them.
#[must_use]
pub fn signing_keys(page: SigningKeysPage<'_>) -> Markup {
    let columns = ["Key", "Verifies tokens of", "Kind", "Added", "Ends", "Last used"].map(Column::text);
    let rows: Vec<Markup> = page.keys.iter().map(row).collect();
    let retire_path = format!("{SIGNING_KEYS_PATH}/retire");
    let main = html! {
        p { a data-back href=(SETTINGS_PATH) { "All agents" } }
        @if let Some(new) = page.new { (new_secret(new)) }
        @if let Some(error) = page.error { (notice(Tone::Bad, error)) }
        (table("Signing keys", &columns, &rows))
        section.card.stacked { h2 { "New key" } (form(&page.person, SIGNING_KEYS_PATH, &add(page.typed))) }
        section.card.stacked { h2 { "Retire a key" } (form(&page.person, &retire_path, &retire())) }
    };
    document(&frame(page.person, "Signing keys"), &main)
}

fn row(key: &SigningKeyRow) -> Markup {
    html! {
        tr {
            th scope="row" { code { (key.id) } }
            td { (key.key_use) }
            td { (key.kind) }
            td.nowrap { @if let Some(at) = key.created_at { (time(at)) } }
            td.nowrap {
                @if let Some(at) = key.ends_at { (time(at)) }
                @if key.is_ending { " " (badge(Tone::Warn, "ends soon")) }
            }
            td.nowrap { @if let Some(at) = key.last_used_at { (time(at)) } }
        }
    }
}

fn add(typed: TypedSigningKey<'_>) -> Markup {
    html! {
        div.field {
            label for="id" { "Id" }
            input #id type="text" name="id" value=(typed.id) required maxlength="64" autocomplete="off" spellcheck="false"
                aria-describedby="id-help";
            span.help #id-help { "1 to 64 of A-Z a-z 0-9 _ -. Tokens name it as kid." }
        }
        div.field { label for="use" { "Verifies tokens of" } (select("use", &KEY_USES, typed.key_use)) }
        div.field { label for="kind" { "Kind" } (select("kind", &KEY_KINDS, typed.kind)) }
        div.field {
            label for="material" { "Secret, JWK set or URL" }
            textarea #material name="material" rows="4" spellcheck="false" autocomplete="off" aria-describedby="material-help" {
                "\n" (typed.material)
            }
            span.help #material-help { "Empty for a new secret. A secret has 32 to 1,024 bytes, a JWK set at most 64 KiB." }
        }
        button.primary type="submit" { "Add" }
    }
}

fn select(name: &str, choices: &[(&str, &str)], chosen: &str) -> Markup {
    html! {
        select id=(name) name=(name) {
            @for (value, label) in choices { option value=(value) selected[*value == chosen] { (label) } }
        }
    }
}

fn retire() -> Markup {
    html! {
        div.field {
            label for="confirmation" { "Type the id of the key to retire it now" }
            input #confirmation type="text" name="confirmation" required autocomplete="off" spellcheck="false" maxlength="64"
                aria-describedby="confirmation-help";
            span.help #confirmation-help { "Its tokens are rejected at once. To rotate, add the next key first and sign with it." }
        }
        button.danger type="submit" { "Retire" }
    }
}
