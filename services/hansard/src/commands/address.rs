//! Where the services are, as commands take it.

use clap::Args;

use crate::client::{AddressError, Service};

/// The port of a writer that `hansard dev` prefers.
pub const WRITER_PORT: u16 = 7301;
/// The port of a gateway that `hansard dev` prefers.
pub const GATEWAY_PORT: u16 = 7302;

/// How to reach a writer.
#[derive(Debug, Clone, Args)]
pub struct WriterAddress {
    /// The writer's address.
    #[arg(
        long = "writer", value_name = "URL", env = "HANSARD_WRITER_URL", hide_env_values = true,
        default_value_t = format!("http://127.0.0.1:{WRITER_PORT}")
    )]
    pub writer_url: String,
    #[command(flatten)]
    token: Token,
}

impl WriterAddress {
    /// The writer.
    ///
    /// # Errors
    /// [`AddressError`].
    pub fn service(&self) -> Result<Service, AddressError> {
        Service::at(&self.writer_url, &self.token.token)
    }
}

/// How to reach a gateway.
#[derive(Debug, Clone, Args)]
pub struct GatewayAddress {
    /// The gateway's address.
    #[arg(
        long = "gateway", value_name = "URL", env = "HANSARD_GATEWAY_URL", hide_env_values = true,
        default_value_t = format!("http://127.0.0.1:{GATEWAY_PORT}")
    )]
    pub gateway_url: String,
    #[command(flatten)]
    token: Token,
}

impl GatewayAddress {
    /// The gateway.
    ///
    /// # Errors
    /// [`AddressError`].
    pub fn service(&self) -> Result<Service, AddressError> {
        Service::at(&self.gateway_url, &self.token.token)
    }
}

/// A service token. The environment keeps it out of the list of processes.
#[derive(Clone, Args)]
pub struct Token {
    /// The service token; better given by the environment, which the list of processes does not show.
    #[arg(long, env = "HANSARD_TOKEN", hide_env_values = true)]
    pub token: String,
}

// The token must not be printed.
impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Token").finish_non_exhaustive()
    }
}
