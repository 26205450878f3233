//! The output of `hansard status`, and the roles that it reads by default. The crate `system-status` reads and computes the status.

pub(crate) mod view;

use system_status::readings::RolePresence;
use system_status::roles::Role;

/// The roles at their default addresses.
pub(crate) fn default_roles() -> Vec<Role> {
    let role = |name: &str, address: std::net::SocketAddr| Role {
        name: name.to_owned(),
        address: address.to_string(),
        presence: RolePresence::Optional,
    };
    vec![
        role("writer", writer::WriterConfig::default().admin_addr),
        role("projector", projector::ProjectorConfig::default().admin_addr),
        role("gateway", gateway::GatewayConfig::default().admin_addr),
    ]
}
