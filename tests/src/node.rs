//! One role of a stack, as a task of the test or as a real process: started, stopped, killed, started again.

use std::process::ExitStatus;

use runtime::shutdown::Shutdown;

use crate::admin;
use crate::eventually::{PATIENCE, eventually};
use crate::process::Process;
use crate::program::Program;
use crate::settings::{Role, Settings};

/// Where roles live.
#[derive(Debug, Clone)]
pub enum Home {
    /// In the test's own process.
    Tasks,
    /// In a process of this binary each.
    Processes(Program),
}

/// A role and its life. Dropped: a process is killed, tasks are told to end.
#[derive(Debug)]
pub struct Node {
    role: Role,
    home: Home,
    /// Its settings; changes count from the next start. Boxed, since tests hold stacks across awaits.
    pub settings: Box<Settings>,
    life: Option<Life>,
}

#[derive(Debug)]
enum Life {
    Tasks(Shutdown),
    Process(Process),
}

impl Node {
    /// A role that does not run yet.
    #[must_use]
    pub fn new(role: Role, home: Home, settings: Settings) -> Self {
        Self {
            role,
            home,
            settings: Box::new(settings),
            life: None,
        }
    }

    /// The URL of its gRPC port; the same in every life.
    ///
    /// # Panics
    /// A projector has none.
    #[must_use]
    pub fn grpc_url(&self) -> String {
        let addr = match self.role {
            Role::Writer => self.settings.writer.grpc.addr,
            Role::Gateway => self.settings.gateway.grpc.addr,
            Role::Projector => panic!("a projector has no gRPC port"),
        };
        format!("http://{addr}")
    }

    /// The address of its operators' port; the same in every life.
    #[must_use]
    pub fn admin_addr(&self) -> std::net::SocketAddr {
        match self.role {
            Role::Writer => self.settings.writer.admin_addr,
            Role::Projector => self.settings.projector.admin_addr,
            Role::Gateway => self.settings.gateway.admin_addr,
        }
    }

    /// Starts it and waits until it says that it is ready.
    ///
    /// # Panics
    /// When it does not start, or not in time.
    pub async fn start(&mut self) {
        self.launch().await;
        self.ready().await;
    }

    /// Starts it; it may not be ready yet, or ever.
    ///
    /// # Panics
    /// When it runs already, or does not start as a task.
    pub async fn launch(&mut self) {
        assert!(
            self.life.is_none(),
            "a {} that is not stopped",
            self.role.command()
        );
        self.life = Some(match &self.home {
            Home::Tasks => {
                Life::Tasks(start_tasks(self.role, Settings::clone(&self.settings)).await)
            }
            Home::Processes(program) => {
                let variables = self.settings.variables_of(self.role);
                Life::Process(Process::start(program, &[self.role.command()], &variables))
            }
        });
    }

    /// Waits until it says that it is ready.
    ///
    /// # Panics
    /// When it ends instead, or is not ready in time.
    pub async fn ready(&mut self) {
        let what = format!("a ready {}", self.role.command());
        let addr = self.admin_addr();
        let role = self.role;
        let life = &mut self.life;
        eventually(&what, || {
            if let Some(Life::Process(process)) = life
                && let Some(status) = process.has_ended()
            {
                panic!("the {} ended by itself: {status}", role.command());
            }
            async move { admin::is_ready(addr).await.then_some(()) }
        })
        .await;
    }

    /// Stops it cleanly and waits for its end; `None` as a task, or when it does not run.
    ///
    /// # Panics
    /// When it does not end in time.
    pub async fn stop(&mut self) -> Option<ExitStatus> {
        match self.life.take()? {
            Life::Tasks(shutdown) => {
                shutdown.begin();
                shutdown.wait(PATIENCE).await.expect("the end of a role");
                None
            }
            Life::Process(mut process) => Some(process.stop().await),
        }
    }

    /// Kills its process with -9 and waits for its end; changes nothing when it does not run.
    ///
    /// # Panics
    /// Tasks cannot be killed.
    pub fn kill(&mut self) {
        match self.life.take() {
            Some(Life::Process(mut process)) => process.kill(),
            Some(Life::Tasks(_)) => panic!("only a process can be killed"),
            None => {}
        }
    }

    /// Whether it was started and neither stopped nor killed since.
    #[must_use]
    pub fn is_started(&self) -> bool {
        self.life.is_some()
    }

    /// Its process, when it is one that runs.
    pub fn process(&mut self) -> Option<&mut Process> {
        match &mut self.life {
            Some(Life::Process(process)) => Some(process),
            Some(Life::Tasks(_)) | None => None,
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(Life::Tasks(shutdown)) = &self.life {
            shutdown.begin();
        }
    }
}

async fn start_tasks(role: Role, settings: Settings) -> Shutdown {
    let shutdown = Shutdown::new();
    // Boxed, since each is large and a test holds it for as long as it starts.
    match role {
        Role::Writer => {
            let starting = Box::pin(writer::start(settings.writer, &shutdown));
            starting.await.expect("a writer");
        }
        Role::Projector => {
            let starting = Box::pin(projector::start(settings.projector, &shutdown));
            starting.await.expect("a projector");
        }
        Role::Gateway => {
            let starting = Box::pin(gateway::start(settings.gateway, &shutdown));
            starting.await.expect("a gateway");
        }
    }
    shutdown
}
