//! Both servers together, each started by us or given by URL.

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::sleep;

use crate::error::StackError;
use crate::nats::{Durability, NatsConfig, NatsServer};
use crate::postgres::{PostgresConfig, PostgresServer, Profile};
use crate::step::Progress;

/// The database that a stack's own Postgres has.
pub const DATABASE_NAME: &str = "hansard";
const WATCH_INTERVAL: Duration = Duration::from_millis(250);

/// Where a server comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerChoice {
    /// It runs elsewhere: nothing is started.
    Url(String),
    /// Found or fetched, started and stopped by us.
    Managed {
        /// The preferred port; a free one when `None` or taken.
        port: Option<u16>,
    },
}

/// What to start, and where.
#[derive(Debug, Clone)]
pub struct StackConfig {
    /// The folder of all data; `nats` and `postgres` are made in it.
    pub data_dir: PathBuf,
    /// Where NATS comes from.
    pub nats: ServerChoice,
    /// Where Postgres comes from.
    pub postgres: ServerChoice,
    /// What our own Postgres is for.
    pub profile: Profile,
    /// When our own nats-server syncs.
    pub durability: Durability,
}

impl StackConfig {
    /// Both servers of our own in `data_dir`, durable, on free ports.
    #[must_use]
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            nats: ServerChoice::Managed { port: None },
            postgres: ServerChoice::Managed { port: None },
            profile: Profile::default(),
            durability: Durability::default(),
        }
    }
}

/// Servers to work with. Dropped: those of our own are stopped, one after the other.
#[derive(Debug)]
pub struct Stack {
    nats: Endpoint<NatsServer>,
    postgres: Endpoint<PostgresServer>,
}

#[derive(Debug)]
enum Endpoint<S> {
    Given(String),
    Own(S),
}

impl<S> Endpoint<S> {
    fn own(&self) -> Option<&S> {
        match self {
            Self::Given(_) => None,
            Self::Own(server) => Some(server),
        }
    }

    fn own_mut(&mut self) -> Option<&mut S> {
        match self {
            Self::Given(_) => None,
            Self::Own(server) => Some(server),
        }
    }
}

/// Starts both servers at once; returns when both are ready and the database [`DATABASE_NAME`] exists.
///
/// # Errors
/// The first [`StackError`]; nothing of ours runs then.
pub async fn start(config: StackConfig, progress: Progress<'_>) -> Result<Stack, StackError> {
    let (nats, postgres) = tokio::try_join!(
        start_nats(&config, progress),
        start_postgres(&config, progress)
    )?;
    Ok(Stack { nats, postgres })
}

async fn start_nats(
    config: &StackConfig,
    progress: Progress<'_>,
) -> Result<Endpoint<NatsServer>, StackError> {
    let port = match &config.nats {
        ServerChoice::Url(url) => return Ok(Endpoint::Given(url.clone())),
        ServerChoice::Managed { port } => *port,
    };
    let folder = config.data_dir.join("nats");
    let nats = NatsConfig {
        port,
        durability: config.durability,
        ..NatsConfig::new(folder)
    };
    Ok(Endpoint::Own(NatsServer::start(nats, progress).await?))
}

async fn start_postgres(
    config: &StackConfig,
    progress: Progress<'_>,
) -> Result<Endpoint<PostgresServer>, StackError> {
    let port = match &config.postgres {
        ServerChoice::Url(url) => return Ok(Endpoint::Given(url.clone())),
        ServerChoice::Managed { port } => *port,
    };
    let folder = config.data_dir.join("postgres");
    let postgres = PostgresConfig {
        folder,
        port,
        profile: config.profile,
    };
    let server = PostgresServer::start(postgres, progress).await?;
    server.create_database(DATABASE_NAME).await?;
    Ok(Endpoint::Own(server))
}

impl Stack {
    /// The URL of NATS.
    #[must_use]
    pub fn nats_url(&self) -> String {
        match &self.nats {
            Endpoint::Given(url) => url.clone(),
            Endpoint::Own(server) => server.url(),
        }
    }

    /// The URL of the database.
    #[must_use]
    pub fn database_url(&self) -> String {
        match &self.postgres {
            Endpoint::Given(url) => url.clone(),
            Endpoint::Own(server) => server.database_url(DATABASE_NAME),
        }
    }

    /// Our own nats-server; `None` when a URL was given.
    #[must_use]
    pub fn nats(&self) -> Option<&NatsServer> {
        self.nats.own()
    }

    /// Our own Postgres; `None` when a URL was given.
    #[must_use]
    pub fn postgres(&self) -> Option<&PostgresServer> {
        self.postgres.own()
    }

    /// As [`Stack::nats`], to kill, freeze or restart it.
    #[must_use]
    pub fn nats_mut(&mut self) -> Option<&mut NatsServer> {
        self.nats.own_mut()
    }

    /// As [`Stack::postgres`], to kill, freeze or restart it.
    #[must_use]
    pub fn postgres_mut(&mut self) -> Option<&mut PostgresServer> {
        self.postgres.own_mut()
    }

    /// Starts a server of our own again whenever it has ended, on the same port and data. Ends only when that
    /// is no use; may be dropped at any time.
    ///
    /// # Errors
    /// [`StackError::KeepsEnding`] after [`crate::RESTARTS_MAX`] restarts of one server, or why one does not start.
    pub async fn keep_running(&mut self, progress: Progress<'_>) -> Result<Infallible, StackError> {
        loop {
            if let Some(server) = self.nats.own_mut() {
                server.revive(progress).await?;
            }
            if let Some(server) = self.postgres.own_mut() {
                server.revive(progress).await?;
            }
            sleep(WATCH_INTERVAL).await;
        }
    }

    /// Stops the servers of our own, both at once, within 30 s.
    pub async fn stop(self) {
        let nats = async {
            if let Endpoint::Own(server) = self.nats {
                server.stop().await;
            }
        };
        let postgres = async {
            if let Endpoint::Own(server) = self.postgres {
                server.stop().await;
            }
        };
        tokio::join!(nats, postgres);
    }
}
