//! `/dashboard/settings`: the settings of the tenant's agents, and their keys.
//!
//! Folders follow the URLs. The gateway changes nothing by itself: it calls the registry service of the writer under the session
//! token of the person, so the writer decides what the person may do, and records each change in the audit log before it is
//! made. A form that the writer rejects is shown again with what was typed.

pub mod agents;
mod json_errors;
pub mod list_agents;
mod rejection;
pub mod signing_keys;

use domain::{AgentId, Timestamp};
use registry::ends_soon;
use runtime::http::HttpProblem;
use wire::proto::operate::v1::Agent;
use wire::status::{Problem, Reason};

use crate::person::Person;
use conversations::commands::RegistryClient;
use http_listener::state::HttpState;

/// Maximum size of an answer of the registry service, in bytes: the keys of an agent or of the tenant, or one agent.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The registry service under the session of the person.
fn registry(state: &HttpState, person: &Person) -> RegistryClient {
    state.commands.registry_for(&person.token).max_decoding_message_size(ANSWER_BYTES_MAX)
}

/// The agent with this id, if it is of the person's tenant. Foreign and missing agents look alike.
fn agent_of(state: &HttpState, person: &Person, id: &str) -> Result<Agent, HttpProblem> {
    let agent = AgentId::parse(id).ok().and_then(|agent| state.gateway.registry.agent(&agent));
    let tenant = person.admin.tenant.tenant().as_str();
    let agent = agent.filter(|agent| agent.tenant_id == tenant);
    agent.ok_or_else(|| {
        let detail = "the tenant has no such agent: check the address";
        HttpProblem::from(Problem::new(Reason::AgentNotFound, detail))
    })
}

/// The time of an entry; `None`: it has none.
fn time(at: Option<prost_types::Timestamp>) -> Option<Timestamp> {
    wire::time::from_proto(at?).ok()
}

/// Whether a key with this end is to be replaced soon. It has not ended yet.
fn is_ending(end: Option<Timestamp>, now: Timestamp) -> bool {
    end.is_some_and(|end| now < end && ends_soon(end, now))
}

/// The text of a form with the line breaks of Unix; browsers send others.
fn with_plain_breaks(text: &str) -> String {
    text.replace("\r\n", "\n")
}
