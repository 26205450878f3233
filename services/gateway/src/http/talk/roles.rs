//! Which roles callers of a public key may speak in: a key is public, so that whoever has it could instruct the model, or have
//! it believe that it said something.

use axum::http::StatusCode;
use domain::AgentId;
use domain::event::Role;
use runtime::http::HttpProblem;
use wire::proto::event::v1 as event;

use crate::http::state::HttpState;

/// The roles that an agent's public callers may speak in beside `user`.
#[derive(Debug, Default)]
pub(super) struct AllowedRoles(Vec<Role>);

impl AllowedRoles {
    /// As the agent's settings have them now.
    pub(super) fn of(state: &HttpState, agent: &AgentId) -> Self {
        let agent = state.gateway.registry.agent(agent);
        let settings = agent.and_then(|agent| agent.settings).unwrap_or_default();
        Self(settings.allowed_roles().filter_map(role).collect())
    }

    /// Whether a message may be of this role.
    pub(super) fn allow(&self, role: Role) -> bool {
        role == Role::User || self.0.contains(&role)
    }
}

/// The settings are checked when they are set: those of a later version may have more.
fn role(role: event::Role) -> Option<Role> {
    match role {
        event::Role::Assistant => Some(Role::Assistant),
        event::Role::System => Some(Role::System),
        event::Role::Developer => Some(Role::Developer),
        event::Role::Unspecified | event::Role::User => None,
    }
}

/// A message of a role that the agent does not allow its public callers.
pub(super) fn not_allowed(place: usize) -> HttpProblem {
    let field = format!("messages[{place}].role");
    let detail = format!(
        "{field} is not allowed to callers of a public key: leave the message out, or allow its role in the agent's settings"
    );
    HttpProblem {
        field: Some(field),
        ..HttpProblem::new(StatusCode::FORBIDDEN, "ROLE_NOT_ALLOWED", detail)
    }
}
