//! The pool of Postgres connections. Its size is bounded, and reusing a connection needs no round trip.
//!
//! There are two kinds: connections of the owner write; connections of readers see the rows of one tenant at a time and
//! store which one. Both kinds share the bound.
//!
//! `sqlx::Pool` is not used because it pings every returned connection, a second round trip for each read. This pool
//! closes a connection that has an incomplete answer. A connection that broke while idle fails at its next use (see
//! [`Connections::close_idle`]).
//!
//! A connection uses one schema for its lifetime. When another schema becomes live, the connections of the old one are
//! closed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::{TenantAccess, TenantId};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::config::ReadModelConfig;
use crate::error::{ReadModelError, sqlstate_of};
use crate::live::{LiveSchemaCache, ProjectionTables, SchemaName, Target};
use crate::refusal::{self, server_of};
use crate::session::{Kind, OpenError, Rights, Session};
use crate::session_settings::SessionSettings;
use crate::sqlstate::TOO_MANY_CONNECTIONS;
use crate::{connect_options, reader_role};

/// Longest wait for a returned connection before another attempt to connect to a server without room.
const FULL_RETRY: Duration = Duration::from_millis(250);

/// A bounded set of connections; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Connections(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    login: PgConnectOptions,
    settings: SessionSettings,
    permits: Arc<Semaphore>,
    max: usize,
    acquire_timeout: Duration,
    /// In order of return.
    idle: Mutex<Vec<Session>>,
    /// Wakes one of those that wait because the server has no room.
    returned: Notify,
    live: LiveSchemaCache,
}

/// A connection in use. Dropping it closes it; [`PooledConnection::release`] returns it to the pool.
#[derive(Debug)]
pub(crate) struct PooledConnection {
    session: Session,
    shared: Arc<Shared>,
    permit: OwnedSemaphorePermit,
}

impl Connections {
    /// The connections of a configuration.
    ///
    /// # Errors
    /// [`ReadModelError::Misconfigured`], [`ReadModelError::File`].
    pub(crate) fn of(config: &ReadModelConfig) -> Result<Self, ReadModelError> {
        let max = usize::try_from(config.connections_max.max(1)).unwrap_or(1);
        Ok(Self(Arc::new(Shared {
            login: connect_options::of(config)?,
            settings: SessionSettings::of(config),
            permits: Arc::new(Semaphore::new(max)),
            max,
            acquire_timeout: Duration::from_millis(config.acquire_timeout_ms),
            idle: Mutex::new(Vec::with_capacity(max)),
            returned: Notify::new(),
            live: LiveSchemaCache::default(),
        })))
    }

    /// A connection with these rights in that schema, if possible one that already sees the rows of `access`.
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`]: no connection in time, or the login may not use the reader role.
    pub(crate) async fn acquire(
        &self,
        (target, tables): (Target, ProjectionTables),
        rights: Rights,
        access: Option<&TenantAccess>,
    ) -> Result<PooledConnection, ReadModelError> {
        let tenant = access.map(TenantAccess::tenant);
        let until = Instant::now() + self.0.acquire_timeout;
        let acquired = self.acquire_until((target, tables), rights, tenant, until);
        timeout_at(until, acquired).await.map_err(|_| ReadModelError::unavailable("no free connection in time"))?
    }

    async fn acquire_until(
        &self,
        (target, tables): (Target, ProjectionTables),
        rights: Rights,
        tenant: Option<&TenantId>,
        until: Instant,
    ) -> Result<PooledConnection, ReadModelError> {
        let permit =
            Arc::clone(&self.0.permits).acquire_owned().await.map_err(|_| ReadModelError::unavailable("closed"))?;
        let schema = match target {
            Target::Live => self.0.live_schema(rights, until).await?,
            Target::Fixed(schema) => schema,
        };
        let kind = Kind { rights, tables, schema };
        let session = self.0.session(kind, tenant, until).await?;
        Ok(PooledConnection { session, shared: Arc::clone(&self.0), permit })
    }

    /// Closes idle connections and expires the cached live schema. After one lost connection all may be lost, because the
    /// server restarted. After a missing table the schema may have been dropped.
    pub(crate) fn close_idle(&self) {
        self.expire_live_schema();
        self.0.idle().clear();
    }

    /// Expires the cached live schema.
    pub(crate) fn expire_live_schema(&self) {
        self.0.live.expire();
    }
}

impl Shared {
    fn idle(&self) -> MutexGuard<'_, Vec<Session>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The best idle connection: one of the tenant, else the one that was idle longest, whose tenant is the least likely to
    /// come next. `None`: the caller must connect, and the bound allows it.
    fn take_idle(&self, kind: Kind, tenant: Option<&TenantId>) -> Option<Session> {
        let mut idle = self.idle();
        let fits = |session: &Session| session.kind() == kind;
        let own = |session: &Session| fits(session) && session.tenant() == tenant;
        let index = idle.iter().rposition(own).or_else(|| idle.iter().position(fits));
        if let Some(index) = index {
            return Some(idle.remove(index));
        }
        let in_use = self.max - self.permits.available_permits();
        if idle.len() + in_use > self.max {
            // All idle connections are of other kinds.
            idle.remove(0);
        }
        None
    }

    /// The live schema, read by any connection: every role may read it.
    async fn live_schema(&self, rights: Rights, until: Instant) -> Result<SchemaName, ReadModelError> {
        if let Some(schema) = self.live.get() {
            return Ok(schema);
        }
        let _refresh = self.live.lock().await;
        if let Some(schema) = self.live.get() {
            return Ok(schema);
        }
        let idle = self.idle().pop();
        if let Some(mut session) = idle {
            if let Ok(schema) = session.live_schema().await {
                self.keep(session, schema);
                return Ok(schema);
            }
            self.idle().clear();
        }
        let kind = Kind { rights, tables: ProjectionTables::Conversations, schema: self.live.last() };
        let mut session = self.session(kind, None, until).await?;
        let schema = session.live_schema().await?;
        self.keep(session, schema);
        Ok(schema)
    }

    /// Caches the live schema. If it changed, closes the connections of the previous one.
    fn keep(&self, session: Session, live: SchemaName) {
        let has_changed = self.live.set(live);
        let mut idle = self.idle();
        if has_changed {
            idle.retain(|session| session.kind().schema == live);
        }
        if session.kind().schema == live {
            idle.push(session);
        }
    }

    /// An idle connection, or a new one. While the server has no room for a new one, waits for one that is returned.
    async fn session(&self, kind: Kind, tenant: Option<&TenantId>, until: Instant) -> Result<Session, ReadModelError> {
        loop {
            if let Some(session) = self.take_idle(kind, tenant) {
                return Ok(session);
            }
            let error = match Session::open(&self.login, &self.settings, kind).await {
                Ok(session) => return Ok(session),
                Err(OpenError::Connect(error)) => error,
                Err(OpenError::Unsupported(problem)) => return Err(self.unsupported(&problem)),
            };
            let is_full = sqlstate_of(&error).as_deref() == Some(TOO_MANY_CONNECTIONS);
            let again = Instant::now() + FULL_RETRY;
            // The next attempt must end before the caller stops waiting, so that it learns the reason.
            if !is_full || again + FULL_RETRY >= until {
                return Err(self.refusal(kind, error));
            }
            self.close_one_idle();
            // At its end the server may have room.
            let _ = timeout_at(again, self.returned.notified()).await;
        }
    }

    /// Closes the connection that was idle longest, of another kind, to make room in the server.
    fn close_one_idle(&self) {
        let mut idle = self.idle();
        if !idle.is_empty() {
            idle.remove(0);
        }
    }

    /// Why a connection of a kind was refused.
    fn refusal(&self, kind: Kind, error: sqlx::Error) -> ReadModelError {
        match kind.rights {
            Rights::Owner => refusal::connect_error(error, &self.login),
            Rights::Reader => reader_role::connect_error(error, &self.login),
        }
    }

    /// The server cannot be used as it is: an operator may change it.
    fn unsupported(&self, problem: &str) -> ReadModelError {
        ReadModelError::unavailable(format!("Postgres at {} {problem}", server_of(&self.login)))
    }
}

impl PooledConnection {
    /// The session, to begin and end transactions and statements.
    pub(crate) fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        self.session.connection()
    }

    /// Checks that statements outside of transactions have the settings of the session.
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`] for a connection to a pooler.
    pub(crate) fn check_is_direct(&self) -> Result<(), ReadModelError> {
        let problem = "is a pooler, and migrations and rebuilds need a connection to Postgres itself: give its URL";
        if self.session.is_of_pooler() { Err(self.shared.unsupported(problem)) } else { Ok(()) }
    }

    /// Returns the connection to the pool. Only for a connection whose answer was read completely. Closes it during a transaction.
    pub(crate) fn release(self) {
        if self.session.is_in_transaction() {
            return;
        }
        self.shared.idle().push(self.session);
        self.shared.returned.notify_one();
        drop(self.permit);
    }
}
