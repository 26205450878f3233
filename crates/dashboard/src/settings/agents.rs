//! `/dashboard/settings/agents/{agent}`: the settings of an agent.

mod definitions;
pub mod keys;
pub mod policy;
pub mod save_settings;
mod settings_form;
pub mod show_settings;
pub mod webhooks;

use axum::http::StatusCode;
use pages::components::Tone;
use pages::dashboard::settings::agent::{AgentPage, agent};
use prost::Message as _;
use sha2::{Digest as _, Sha256};
use wire::proto::operate::v1::AgentSettings;

use crate::page::Page;
use crate::person::Person;
use settings_form::SettingsForm;

/// Bytes of a revision: 16 hexadecimal digits.
const REVISION_BYTES: usize = 8;

/// A page with a status: a rejected form is shown again.
type StatusPage = (StatusCode, Page);

/// The page of the settings.
fn page(person: &Person, id: &str, form: &SettingsForm, revision: &str, notice: Option<(Tone, &str)>) -> Page {
    Page(agent(AgentPage { person: person.layout(), agent: id, groups: &form.groups(), revision, notice }))
}

/// Names the content of settings, so that a form notices a change by others.
fn revision(settings: &AgentSettings) -> String {
    let hash = Sha256::digest(settings.encode_to_vec());
    hex::encode(hash.get(..REVISION_BYTES).unwrap_or_default())
}
