//! Arguments with the address of a service and the token for it.

use clap::Args;
use runtime::config::Secret;

use crate::client::{AddressError, Service};
use crate::ids::secret;

/// The default port of the writer in `hansard dev`.
pub const WRITER_PORT: u16 = 7301;
/// The default port of the gateway in `hansard dev`.
pub const GATEWAY_PORT: u16 = 7302;
/// The default port of the gateway's HTTP listener in `hansard dev`.
pub const GATEWAY_HTTP_PORT: u16 = 7303;

/// The address of a writer.
#[derive(Debug, Clone, Args)]
pub(crate) struct WriterAddress {
    /// URL of the writer's gRPC listener.
    #[arg(
        long = "writer", value_name = "URL", env = "HANSARD_WRITER_URL", hide_env_values = true,
        default_value_t = format!("http://127.0.0.1:{WRITER_PORT}")
    )]
    writer_url: String,
    #[command(flatten)]
    token: Token,
}

impl WriterAddress {
    /// The writer's service.
    pub(crate) fn service(&self) -> Result<Service, AddressError> {
        Service::at(&self.writer_url, self.token.token.expose())
    }
}

/// The address of a gateway.
#[derive(Debug, Clone, Args)]
pub(crate) struct GatewayAddress {
    /// URL of the gateway's gRPC listener.
    #[arg(
        long = "gateway", value_name = "URL", env = "HANSARD_GATEWAY_URL", hide_env_values = true,
        default_value_t = format!("http://127.0.0.1:{GATEWAY_PORT}")
    )]
    gateway_url: String,
    #[command(flatten)]
    token: Token,
}

impl GatewayAddress {
    /// The gateway's service.
    pub(crate) fn service(&self) -> Result<Service, AddressError> {
        Service::at(&self.gateway_url, self.token.token.expose())
    }
}

/// A service token.
#[derive(Debug, Clone, Args)]
struct Token {
    /// Service token. Prefer the environment variable: process lists show command-line arguments.
    #[arg(long, env = "HANSARD_TOKEN", hide_env_values = true, value_parser = secret())]
    token: Secret,
}
