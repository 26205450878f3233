//! `/dashboard/settings`: agents with their settings, policies, keys and webhooks, and the tenant's signing keys.

pub mod agent;
pub mod agents;
pub mod api_keys;
pub mod choices;
mod field;
pub mod policy;
pub mod signing_keys;
pub mod webhooks;

use maud::{Markup, html};

use crate::components::copy_button;
use crate::layout::{Frame, Freshness, Person, Section};

pub use field::{Control, Field};

/// The path of the list of agents.
pub const SETTINGS_PATH: &str = "/dashboard/settings";
/// The path of the signing keys.
pub const SIGNING_KEYS_PATH: &str = "/dashboard/settings/signing-keys";

/// The path of an agent's settings. Ids of agents need no escapes.
#[must_use]
pub fn agent_path(agent: &str) -> String {
    format!("{SETTINGS_PATH}/agents/{agent}")
}

/// A page of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tab {
    Settings,
    Policy,
    Keys,
    Webhooks,
}

impl Tab {
    const ALL: [Self; 4] = [Self::Settings, Self::Policy, Self::Keys, Self::Webhooks];

    fn name(self) -> &'static str {
        match self {
            Self::Settings => "Settings",
            Self::Policy => "Context policy",
            Self::Keys => "API keys",
            Self::Webhooks => "Webhooks",
        }
    }

    fn path(self, agent: &str) -> String {
        let agent = agent_path(agent);
        match self {
            Self::Settings => agent,
            Self::Policy => format!("{agent}/policy"),
            Self::Keys => format!("{agent}/keys"),
            Self::Webhooks => format!("{agent}/webhooks"),
        }
    }
}

/// The link back, and the links to the pages of an agent.
fn tabs(agent: &str, current: Tab) -> Markup {
    html! {
        p { a data-back href=(SETTINGS_PATH) { "All agents" } }
        nav.tabs aria-label="Agent" {
            @for tab in Tab::ALL {
                a.chip href=(tab.path(agent)) aria-current=[(tab == current).then_some("true")] { (tab.name()) }
            }
        }
    }
}

fn frame<'a>(person: Person<'a>, title: &'a str) -> Frame<'a> {
    Frame { title, person: Some(person), section: Some(Section::Settings), freshness: Freshness::None }
}

/// A secret that is shown for the only time.
#[derive(Clone, Copy)]
pub struct NewSecret<'a> {
    /// What it is, such as `API key 0123456789abcdef`.
    pub name: &'a str,
    /// The secret.
    pub secret: &'a str,
}

fn new_secret(new: NewSecret<'_>) -> Markup {
    html! {
        div.notice.good role="status" {
            p { strong { (new.name) } ": copy the secret now. It is not shown again." }
            div.row { code #secret { (new.secret) } (copy_button("secret")) }
        }
    }
}
