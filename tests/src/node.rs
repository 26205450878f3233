//! One role of a stack, as a task of the test or as a process, with start, stop and kill.

use std::process::ExitStatus;

use runtime::shutdown::Shutdown;

use crate::admin;
use crate::eventually::{TIMEOUT, eventually};
use crate::process::Process;
use crate::program::Program;
use crate::settings::{Role, Settings};

/// How much of the log's end the failure of a role that ended shows.
const LOG_END_BYTES: usize = 1024;

/// Where a role runs.
#[derive(Debug, Clone)]
pub enum Placement {
    /// In the test process.
    Tasks,
    /// In a separate process of this binary.
    Processes(Program),
}

/// A role. When dropped, a process is killed and tasks are stopped.
#[derive(Debug)]
pub struct Node {
    role: Role,
    placement: Placement,
    /// Its settings; changes apply from the next start. Boxed, because tests hold stacks across awaits.
    pub settings: Box<Settings>,
    handle: Option<Handle>,
}

#[derive(Debug)]
enum Handle {
    Tasks(Shutdown),
    Process(Process),
}

impl Node {
    /// A role that is not started.
    #[must_use]
    pub fn new(role: Role, placement: Placement, settings: Settings) -> Self {
        Self { role, placement, settings: Box::new(settings), handle: None }
    }

    /// Uses another program from the next start.
    pub fn set_program(&mut self, program: Program) {
        self.placement = Placement::Processes(program);
    }

    /// The URL of its gRPC port; it stays the same after a restart.
    ///
    /// # Panics
    /// A projector has no gRPC port.
    #[must_use]
    pub fn grpc_url(&self) -> String {
        let addr = match self.role {
            Role::Writer => self.settings.writer.grpc.addr,
            Role::Gateway => self.settings.gateway.grpc.addr,
            Role::Projector => panic!("a projector has no gRPC port"),
        };
        format!("http://{addr}")
    }

    /// The address of its admin port; it stays the same after a restart.
    #[must_use]
    pub fn admin_addr(&self) -> std::net::SocketAddr {
        match self.role {
            Role::Writer => self.settings.writer.admin_addr,
            Role::Projector => self.settings.projector.admin_addr,
            Role::Gateway => self.settings.gateway.admin_addr,
        }
    }

    /// Starts the role and waits until it is ready.
    ///
    /// # Panics
    /// When it does not start in time.
    pub async fn start(&mut self) {
        self.launch().await;
        self.ready().await;
    }

    /// Starts the role without waiting until it is ready.
    ///
    /// # Panics
    /// When it already runs, or does not start as a task.
    pub async fn launch(&mut self) {
        assert!(self.handle.is_none(), "a {} that is not stopped", self.role.command());
        self.handle = Some(match &self.placement {
            Placement::Tasks => Handle::Tasks(start_tasks(self.role, Settings::clone(&self.settings)).await),
            Placement::Processes(program) => {
                let variables = self.settings.variables_of(self.role);
                Handle::Process(Process::start(program, &[self.role.command()], &variables))
            }
        });
    }

    /// Waits until it is ready.
    ///
    /// # Panics
    /// When it ends, or is not ready in time.
    pub async fn ready(&mut self) {
        let what = format!("a ready {}", self.role.command());
        let addr = self.admin_addr();
        let role = self.role;
        let handle = &mut self.handle;
        eventually(&what, || {
            if let Some(Handle::Process(process)) = handle
                && let Some(status) = process.has_ended()
            {
                let log = process.log_end(LOG_END_BYTES);
                panic!("the {} ended by itself: {status}; its log ends with: {log}", role.command());
            }
            async move { admin::is_ready(addr).await.then_some(()) }
        })
        .await;
    }

    /// Stops it gracefully and waits for its end; `None` for a task, or when it does not run.
    ///
    /// # Panics
    /// When it does not end in time.
    pub async fn stop(&mut self) -> Option<ExitStatus> {
        match self.handle.take()? {
            Handle::Tasks(shutdown) => {
                shutdown.begin();
                shutdown.wait(TIMEOUT).await.expect("the end of a role");
                None
            }
            Handle::Process(mut process) => Some(process.stop().await),
        }
    }

    /// Kills its process with -9 and waits for its end; does nothing when it does not run.
    ///
    /// # Panics
    /// Tasks cannot be killed.
    pub fn kill(&mut self) {
        match self.handle.take() {
            Some(Handle::Process(mut process)) => process.kill(),
            Some(Handle::Tasks(_)) => panic!("only a process can be killed"),
            None => {}
        }
    }

    /// Whether it was started and not stopped or killed since.
    #[must_use]
    pub fn is_started(&self) -> bool {
        self.handle.is_some()
    }

    /// Its process, if it is a running process.
    pub fn process(&mut self) -> Option<&mut Process> {
        match &mut self.handle {
            Some(Handle::Process(process)) => Some(process),
            Some(Handle::Tasks(_)) | None => None,
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(Handle::Tasks(shutdown)) = &self.handle {
            shutdown.begin();
        }
    }
}

async fn start_tasks(role: Role, settings: Settings) -> Shutdown {
    let shutdown = Shutdown::new();
    // Boxed: each future is large, and a test holds it during the start.
    match role {
        Role::Writer => {
            Box::pin(writer::start(settings.writer, &shutdown)).await.expect("a writer");
        }
        Role::Projector => {
            Box::pin(projector::start(settings.projector, &shutdown)).await.expect("a projector");
        }
        Role::Gateway => {
            Box::pin(gateway::start(settings.gateway, &shutdown)).await.expect("a gateway");
        }
    }
    shutdown
}
