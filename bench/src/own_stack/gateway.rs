//! One more gateway on the stack of the bench, with settings of its own.

use std::path::PathBuf;

use super::{GATEWAY, free_address, settings};
use crate::addresses::Servers;
use crate::report::Resident;
use crate::role_process::RoleProcess;

/// What further gateways need.
#[derive(Clone)]
pub struct MoreGateways {
    pub(super) program: PathBuf,
    pub(super) servers: Servers,
    pub(super) writer_url: String,
    pub(super) token: String,
}

// The token must not be printed.
impl std::fmt::Debug for MoreGateways {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MoreGateways").finish_non_exhaustive()
    }
}

/// A further gateway; dropped, it is killed.
#[derive(Debug)]
pub struct MoreGateway {
    process: RoleProcess,
    http_url: String,
}

impl MoreGateways {
    /// Starts one, with settings of the form `KEY=VALUE` beside those of the stack. It may not serve yet.
    ///
    /// # Errors
    /// The program cannot be run, or no port is free.
    pub fn start(&self, more: Vec<String>) -> anyhow::Result<MoreGateway> {
        let http = free_address()?;
        let mut settings = settings(&self.servers, Some(free_address()?))?;
        settings.push(format!("http.server.addr={http}"));
        settings.push(format!("writer_url={}", self.writer_url));
        // Of a stack that is thrown away.
        settings.push(format!("writer_token={}", self.token));
        settings.extend(more);
        Ok(MoreGateway {
            process: RoleProcess::start(self.program.clone(), GATEWAY, settings)?,
            http_url: format!("http://{http}"),
        })
    }
}

impl MoreGateway {
    /// The URL of its HTTP door.
    #[must_use]
    pub fn http_url(&self) -> &str {
        &self.http_url
    }

    /// The memory that it holds, and held at most; `None` where the system does not tell.
    #[must_use]
    pub fn resident(&self) -> Option<Resident> {
        self.process.resident()
    }

    /// Fails when it has ended by itself.
    ///
    /// # Errors
    /// It has.
    pub fn check_runs(&mut self) -> anyhow::Result<()> {
        self.process.check_runs()
    }

    /// Ends it.
    pub async fn stop(mut self) {
        self.process.stop().await;
    }
}
