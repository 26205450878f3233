//! `/dashboard/settings/agents/{agent}`: the settings of an agent, as one form.

use maud::{Markup, html};

use super::field::{Field, field};
use super::{Tab, agent_path, frame, tabs};
use crate::components::{Tone, form, notice};
use crate::layout::{Person, document};

/// Fields under a heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldGroup {
    /// The heading.
    pub title: &'static str,
    /// The fields, in order.
    pub fields: Vec<Field>,
}

/// The values of the page.
#[derive(Clone, Copy)]
pub struct AgentPage<'a> {
    /// The signed-in person.
    pub person: Person<'a>,
    /// The agent.
    pub agent: &'a str,
    /// Its settings.
    pub groups: &'a [FieldGroup],
    /// The revision of the settings that the form changes.
    pub revision: &'a str,
    /// What was done, or what is wrong with the form as a whole.
    pub notice: Option<(Tone, &'a str)>,
}

/// The form with every setting.
#[must_use]
pub fn agent(page: AgentPage<'_>) -> Markup {
    let title = format!("Settings of {}", page.agent);
    let errors = page.groups.iter().flat_map(|group| &group.fields).filter(|field| field.error.is_some()).count();
    let fields = html! {
        input type="hidden" name="revision" value=(page.revision);
        @for group in page.groups {
            section.card.fields {
                h2 { (group.title) }
                @for one in &group.fields { (field(one)) }
            }
        }
        div.row {
            button.primary type="submit" { "Save" }
            span.muted { "Each change is recorded in the audit log, without its value." }
        }
    };
    let main = html! {
        (tabs(page.agent, Tab::Settings))
        @if let Some((tone, text)) = page.notice { (notice(tone, text)) }
        @if errors > 0 {
            (notice(Tone::Bad, "Nothing was saved: correct the marked fields and save again."))
        }
        div.stacked { (form(&page.person, &agent_path(page.agent), &fields)) }
    };
    document(&frame(page.person, &title), &main)
}
