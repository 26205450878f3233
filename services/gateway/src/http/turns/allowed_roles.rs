//! The roles of messages that callers with a public key may send. The key is public: without this check anybody could
//! send instructions to the model, or messages in its name.

use axum::http::StatusCode;
use domain::AgentId;
use domain::event::Role;
use runtime::http::HttpProblem;
use wire::proto::event::v1 as event;

use crate::http::state::HttpState;

/// The roles that an agent allows its public callers in addition to `user`.
#[derive(Debug, Default)]
pub(in crate::http) struct AllowedRoles(Vec<Role>);

impl AllowedRoles {
    /// The roles in the agent's current settings.
    pub(in crate::http) fn for_agent(state: &HttpState, agent: &AgentId) -> Self {
        let settings = state.agent_settings(agent);
        Self(settings.allowed_roles().filter_map(role).collect())
    }

    /// Whether a message may have this role.
    pub(in crate::http) fn contains(&self, role: Role) -> bool {
        role == Role::User || self.0.contains(&role)
    }
}

/// A later version may write settings with more roles.
fn role(role: event::Role) -> Option<Role> {
    match role {
        event::Role::Assistant => Some(Role::Assistant),
        event::Role::System => Some(Role::System),
        event::Role::Developer => Some(Role::Developer),
        event::Role::Unspecified | event::Role::User => None,
    }
}

/// The agent does not allow this role to public callers.
pub(in crate::http) fn not_allowed(index: usize) -> HttpProblem {
    let field = format!("messages[{index}].role");
    let detail = format!(
        "{field} is not allowed with a public key: leave the message out, or allow its role in the agent's settings"
    );
    HttpProblem::new(StatusCode::FORBIDDEN, "ROLE_NOT_ALLOWED", detail).in_field(field)
}
