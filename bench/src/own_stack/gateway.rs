//! Further gateways of the own stack, with their own settings.

use std::path::PathBuf;

use super::{GATEWAY, free_address, settings};
use crate::addresses::Servers;
use crate::report::Resident;
use crate::role_process::RoleProcess;

/// Starts further gateways.
#[derive(Clone)]
pub struct GatewayFactory {
    pub(super) program: PathBuf,
    pub(super) servers: Servers,
    pub(super) writer_url: String,
    pub(super) token: String,
}

// The token must not be printed.
impl std::fmt::Debug for GatewayFactory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GatewayFactory").finish_non_exhaustive()
    }
}

/// A further gateway; killed when dropped.
#[derive(Debug)]
pub struct ExtraGateway {
    process: RoleProcess,
    http_url: String,
}

impl GatewayFactory {
    /// Starts a gateway with additional settings of the form `KEY=VALUE`. It may not be ready yet.
    ///
    /// # Errors
    /// The program cannot be run, or no port is free.
    pub fn start(&self, more: Vec<String>) -> anyhow::Result<ExtraGateway> {
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

impl ExtraGateway {
    /// The URL of its HTTP listener.
    #[must_use]
    pub fn http_url(&self) -> &str {
        &self.http_url
    }

    /// Its current and peak memory; `None` if the system does not report it.
    #[must_use]
    pub fn resident(&self) -> Option<Resident> {
        self.process.resident()
    }

    /// Checks that the process is running.
    ///
    /// # Errors
    /// It has ended.
    pub fn check_runs(&mut self) -> anyhow::Result<()> {
        self.process.check_runs()
    }

    /// Stops it.
    pub async fn stop(mut self) {
        self.process.stop().await;
    }
}
