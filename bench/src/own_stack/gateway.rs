//! Further gateways of the own stack, with their own settings.

use std::path::PathBuf;

use super::{GATEWAY, free_address, settings};
use crate::addresses::Servers;
use crate::role_process::RoleProcess;

#[derive(Clone)]
pub(crate) struct GatewayFactory {
    pub(super) program: PathBuf,
    pub(super) servers: Servers,
    pub(super) writer_url: String,
    pub(super) token: String,
}

pub(crate) struct ExtraGateway {
    pub(crate) process: RoleProcess,
    pub(crate) http_url: String,
}

impl GatewayFactory {
    /// Starts a gateway with additional settings of the form `KEY=VALUE`. It may not be ready yet.
    pub(crate) fn start(&self, more: Vec<String>) -> anyhow::Result<ExtraGateway> {
        let http = free_address()?;
        let mut settings = settings(&self.servers, Some(free_address()?))?;
        settings.push(format!("http.server.addr={http}"));
        settings.push(format!("writer_url={}", self.writer_url));
        // A token of a temporary stack.
        settings.push(format!("writer_token={}", self.token));
        settings.extend(more);
        Ok(ExtraGateway {
            process: RoleProcess::start(self.program.clone(), GATEWAY, settings)?,
            http_url: format!("http://{http}"),
        })
    }
}
