//! The connections to Postgres: bounded, and handed out again without a round trip.
//!
//! Why not `sqlx::Pool`: it asks every connection that comes back for a sign of life, which is a second round trip for
//! each read. Here a connection that was left in the middle of an answer is closed instead, and one that died while it
//! was idle shows itself at its next use (see [`Connections::expel`]).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::error::ReadModelError;

/// A bounded set of connections; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Connections(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    options: PgConnectOptions,
    permits: Arc<Semaphore>,
    acquire_timeout: Duration,
    idle: Mutex<Vec<PgConnection>>,
}

/// A connection on loan. Dropped, it is closed; [`Lent::give_back`] keeps it for the next.
#[derive(Debug)]
pub(crate) struct Lent {
    pub(crate) connection: PgConnection,
    shared: Arc<Shared>,
    permit: OwnedSemaphorePermit,
}

impl Connections {
    pub(crate) fn new(options: PgConnectOptions, max: u32, acquire_timeout: Duration) -> Self {
        let max = usize::try_from(max.max(1)).unwrap_or(1);
        Self(Arc::new(Shared {
            options,
            permits: Arc::new(Semaphore::new(max)),
            acquire_timeout,
            idle: Mutex::new(Vec::with_capacity(max)),
        }))
    }

    /// A connection: the one that came back last, else a new one.
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`] when none is free, or none can be made, in time.
    pub(crate) async fn acquire(&self) -> Result<Lent, ReadModelError> {
        timeout(self.0.acquire_timeout, self.acquire_at_leisure())
            .await
            .map_err(|_| ReadModelError::unavailable("no free connection in time"))?
    }

    async fn acquire_at_leisure(&self) -> Result<Lent, ReadModelError> {
        let permit = Arc::clone(&self.0.permits).acquire_owned().await;
        let permit = permit.map_err(|_| ReadModelError::unavailable("closed"))?;
        let idle = self.0.idle().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.0.options.connect().await?,
        };
        Ok(Lent {
            connection,
            shared: Arc::clone(&self.0),
            permit,
        })
    }

    /// Closes what is idle. One connection lost means a server that went away, and with it all of them.
    pub(crate) fn expel(&self) {
        self.0.idle().clear();
    }
}

impl Shared {
    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<PgConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lent {
    /// Keeps the connection for the next. Only for one that has been read to the end of its answer.
    pub(crate) fn give_back(self) {
        let Self {
            connection,
            shared,
            permit,
        } = self;
        shared.idle().push(connection);
        drop(permit);
    }
}
