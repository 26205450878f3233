//! The forms that choose version, format, policy and budget.

use domain::Version;
use maud::{Markup, html};

use crate::components::form;
use crate::dashboard::transcript::path;
use crate::layout::Person;

/// What was requested, and what may be.
#[derive(Debug, Clone, Copy)]
pub struct ContextForm<'a> {
    /// The version.
    pub version: Version,
    /// The newest version.
    pub newest: Version,
    /// The name of the format.
    pub format: &'a str,
    /// The names of every format.
    pub formats: &'a [&'a str],
    /// The version that is compared.
    pub before: Option<Version>,
    /// The other budget, in tokens.
    pub budget: Option<u32>,
    /// The other policy, as JSON.
    pub policy: &'a str,
}

/// The form of the context, and the form of another policy.
pub(super) fn forms(person: &Person<'_>, conversation: &str, request: ContextForm<'_>) -> Markup {
    let action = format!("{}/context", path(conversation));
    let policy = html! {
        (choices(request, "other"))
        div.field {
            label for="policy" { "Another policy" }
            textarea #policy name="policy" rows="6" spellcheck="false" { (request.policy) }
            span.help { "A context policy as JSON; empty: the agent's policy." }
        }
        div.field {
            label for="budget" { "Another budget, in tokens" }
            input #budget type="number" name="budget" min="256" max=(u32::MAX) value=[request.budget];
        }
        button type="submit" { "Compare" }
        span.muted { " No model is called." }
    };
    let is_open = request.budget.is_some() || !request.policy.is_empty();
    html! {
        form.row method="get" action=(action) { (choices(request, "sent")) button type="submit" { "Show" } }
        details.card open[is_open] {
            summary { "Another policy or budget, side by side" }
            (form(person, &action, &policy))
        }
    }
}

/// The fields that both forms have; `key` makes the ids of their elements distinct.
fn choices(request: ContextForm<'_>, key: &str) -> Markup {
    let id = |field: &str| format!("{key}-{field}");
    html! {
        label for=(id("version")) { "At event" }
        input id=(id("version")) type="number" name="version" min="1" max=(request.newest) value=(request.version);
        label for=(id("format")) { "Format" }
        select id=(id("format")) name="format" {
            @for format in request.formats {
                option value=(format) selected[*format == request.format] { (format) }
            }
        }
        label for=(id("before")) { "Compare with event" }
        input id=(id("before")) type="number" name="before" min="1" max=(request.newest) value=[request.before];
    }
}
