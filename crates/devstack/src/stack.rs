//! Both servers, each managed by this process or given by URL.

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::sleep;

use crate::error::StackError;
use crate::nats::{Durability, NatsConfig, NatsServer};
use crate::postgres::{PostgresConfig, PostgresServer, Profile};
use crate::step::Progress;

/// The database of a managed Postgres server.
pub const DATABASE_NAME: &str = "hansard";
const WATCH_INTERVAL: Duration = Duration::from_millis(250);

/// The source of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerChoice {
    /// It is already running; nothing is started.
    Url(String),
    /// This process finds or fetches, starts and stops it.
    Managed {
        /// The preferred port. If it is `None` or in use, a free port is used.
        port: Option<u16>,
    },
}

/// The settings of a stack.
#[derive(Debug, Clone)]
pub struct StackConfig {
    /// The folder of all data, with the folders `nats` and `postgres`.
    pub data_dir: PathBuf,
    /// The source of NATS.
    pub nats: ServerChoice,
    /// The source of Postgres.
    pub postgres: ServerChoice,
    /// The purpose of a managed Postgres server.
    pub profile: Profile,
    /// When a managed nats-server syncs.
    pub durability: Durability,
    /// The password of a managed nats-server; `None`: every user of this machine is a client.
    pub nats_password: Option<String>,
}

impl StackConfig {
    /// Both servers managed in `data_dir`, durable, on free ports.
    #[must_use]
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            nats: ServerChoice::Managed { port: None },
            postgres: ServerChoice::Managed { port: None },
            profile: Profile::default(),
            durability: Durability::default(),
            nats_password: None,
        }
    }
}

/// Both servers. A drop stops the managed ones, one after the other.
#[derive(Debug)]
pub struct Stack {
    nats_url: String,
    database_url: String,
    nats: Option<NatsServer>,
    postgres: Option<PostgresServer>,
}

/// Starts both servers at the same time; returns when both are ready and the database [`DATABASE_NAME`] exists.
///
/// # Errors
/// The first [`StackError`]; then no managed server runs.
pub async fn start(config: StackConfig, progress: Progress<'_>) -> Result<Stack, StackError> {
    let ((nats_url, nats), (database_url, postgres)) =
        tokio::try_join!(start_nats(&config, progress), start_postgres(&config, progress))?;
    Ok(Stack { nats_url, database_url, nats, postgres })
}

async fn start_nats(config: &StackConfig, progress: Progress<'_>) -> Result<(String, Option<NatsServer>), StackError> {
    let port = match &config.nats {
        ServerChoice::Url(url) => return Ok((url.clone(), None)),
        ServerChoice::Managed { port } => *port,
    };
    let nats = NatsConfig {
        port,
        durability: config.durability,
        password: config.nats_password.clone(),
        ..NatsConfig::new(config.data_dir.join("nats"))
    };
    let server = NatsServer::start(nats, progress).await?;
    Ok((server.url(), Some(server)))
}

async fn start_postgres(
    config: &StackConfig,
    progress: Progress<'_>,
) -> Result<(String, Option<PostgresServer>), StackError> {
    let port = match &config.postgres {
        ServerChoice::Url(url) => return Ok((url.clone(), None)),
        ServerChoice::Managed { port } => *port,
    };
    let postgres = PostgresConfig { folder: config.data_dir.join("postgres"), port, profile: config.profile };
    let server = PostgresServer::start(postgres, progress).await?;
    server.create_database(DATABASE_NAME).await?;
    Ok((server.database_url(DATABASE_NAME), Some(server)))
}

impl Stack {
    /// The URL of NATS.
    #[must_use]
    pub fn nats_url(&self) -> String {
        self.nats_url.clone()
    }

    /// The URL of the database.
    #[must_use]
    pub fn database_url(&self) -> String {
        self.database_url.clone()
    }

    /// The managed nats-server; `None` if a URL was given.
    #[must_use]
    pub fn nats(&self) -> Option<&NatsServer> {
        self.nats.as_ref()
    }

    /// The managed Postgres server; `None` if a URL was given.
    #[must_use]
    pub fn postgres(&self) -> Option<&PostgresServer> {
        self.postgres.as_ref()
    }

    /// Like [`Stack::nats`], to kill, pause or restart it.
    #[must_use]
    pub fn nats_mut(&mut self) -> Option<&mut NatsServer> {
        self.nats.as_mut()
    }

    /// Like [`Stack::postgres`], to kill, pause or restart it.
    #[must_use]
    pub fn postgres_mut(&mut self) -> Option<&mut PostgresServer> {
        self.postgres.as_mut()
    }

    /// Restarts managed servers that have ended, on the same ports and data. Returns only errors; the future can be dropped
    /// at any time.
    ///
    /// # Errors
    /// [`StackError::KeepsEnding`] after [`crate::RESTARTS_MAX`] restarts of one server, or the error of a restart.
    pub async fn keep_running(&mut self, progress: Progress<'_>) -> Result<Infallible, StackError> {
        loop {
            if let Some(server) = &mut self.nats {
                server.restart_if_ended(progress).await?;
            }
            if let Some(server) = &mut self.postgres {
                server.restart_if_ended(progress).await?;
            }
            sleep(WATCH_INTERVAL).await;
        }
    }

    /// Stops the managed servers, both at the same time, within 30 s.
    pub async fn stop(self) {
        let nats = async {
            if let Some(server) = self.nats {
                server.stop().await;
            }
        };
        let postgres = async {
            if let Some(server) = self.postgres {
                server.stop().await;
            }
        };
        tokio::join!(nats, postgres);
    }
}
