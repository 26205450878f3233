//! The connections to Postgres: bounded, and handed out again without a round trip.
//!
//! There are two kinds: the owner's, which write, and the readers', each of which sees the rows of one tenant at a time
//! and remembers which (see [`Lent::see`]). They share the bound.
//!
//! Why not `sqlx::Pool`: it asks every connection that comes back for a sign of life, which is a second round trip for
//! each read. Here a connection that was left in the middle of an answer is closed instead, and one that died while it
//! was idle shows itself at its next use (see [`Connections::expel`]).
//!
//! A connection belongs to a schema for life. Those of a schema that is not live any more are closed once that is known.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::{TenantAccess, TenantId};
use sqlx::ConnectOptions as _;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::error::ReadModelError;
use crate::live::{Live, SchemaName, Target, look};
use crate::{reader_role, row_security};

/// Whose rights a connection has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rights {
    /// The login's, which owns the tables: for the projections.
    Owner,
    /// The readers' role's: for everything that is read for a tenant.
    Reader,
}

/// A bounded set of connections; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Connections(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    owner: PgConnectOptions,
    reader: PgConnectOptions,
    permits: Arc<Semaphore>,
    max: usize,
    acquire_timeout: Duration,
    /// The one that came back last is the last.
    idle: Mutex<Vec<Session>>,
    live: Live,
}

/// What kind of connection one is: whose rights it has, and in which schema it works.
type Kind = (Rights, SchemaName);

#[derive(Debug)]
struct Session {
    connection: PgConnection,
    rights: Rights,
    schema: SchemaName,
    /// The tenant whose rows a reader's connection sees; `None`: nobody's, or not known.
    tenant: Option<TenantId>,
}

/// A connection on loan. Dropped, it is closed; [`Lent::give_back`] keeps it for the next.
#[derive(Debug)]
pub(crate) struct Lent {
    session: Session,
    shared: Arc<Shared>,
    permit: OwnedSemaphorePermit,
}

impl Connections {
    pub(crate) fn new(login: PgConnectOptions, max: u32, acquire_timeout: Duration) -> Self {
        let max = usize::try_from(max.max(1)).unwrap_or(1);
        Self(Arc::new(Shared {
            reader: reader_role::options(&login),
            owner: login,
            permits: Arc::new(Semaphore::new(max)),
            max,
            acquire_timeout,
            idle: Mutex::new(Vec::with_capacity(max)),
            live: Live::default(),
        }))
    }

    /// A connection with these rights, in that schema; best one that sees the rows of `access` already, else the reader must be told so by
    /// [`Lent::see`].
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`] when none is free, or none can be made, in time, or the login may not take on the
    /// readers' role.
    pub(crate) async fn acquire(
        &self,
        target: Target,
        rights: Rights,
        access: Option<&TenantAccess>,
    ) -> Result<Lent, ReadModelError> {
        let tenant = access.map(TenantAccess::tenant);
        timeout(
            self.0.acquire_timeout,
            self.acquire_at_leisure(target, rights, tenant),
        )
        .await
        .map_err(|_| ReadModelError::unavailable("no free connection in time"))?
    }

    async fn acquire_at_leisure(
        &self,
        target: Target,
        rights: Rights,
        tenant: Option<&TenantId>,
    ) -> Result<Lent, ReadModelError> {
        let permit = Arc::clone(&self.0.permits).acquire_owned().await;
        let permit = permit.map_err(|_| ReadModelError::unavailable("closed"))?;
        let schema = match target {
            Target::Live => self.0.live_schema(rights).await?,
            Target::Fixed(schema) => schema,
        };
        let session = match self.0.take_idle((rights, schema), tenant) {
            Some(session) => session,
            None => self.0.connect((rights, schema)).await?,
        };
        Ok(Lent {
            session,
            shared: Arc::clone(&self.0),
            permit,
        })
    }

    /// Closes what is idle, and has the live schema looked for again. One connection lost means a server that went away, and
    /// with it all of them; one table missing, a schema that was dropped.
    pub(crate) fn expel(&self) {
        self.0.live.forget();
        self.0.idle().clear();
    }
}

impl Shared {
    fn idle(&self) -> MutexGuard<'_, Vec<Session>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The idle connection that serves best: the tenant's own, else the one that was idle longest, whose tenant is the
    /// least likely to be asked for next. `None`: one must be made, and there is room for it.
    fn take_idle(&self, kind: Kind, tenant: Option<&TenantId>) -> Option<Session> {
        let mut idle = self.idle();
        let fits = |session: &Session| (session.rights, session.schema) == kind;
        let own = |session: &Session| fits(session) && session.tenant.as_ref() == tenant;
        let place = idle
            .iter()
            .rposition(own)
            .or_else(|| idle.iter().position(fits));
        if let Some(place) = place {
            return Some(idle.remove(place));
        }
        let lent = self.max - self.permits.available_permits();
        if idle.len() + lent > self.max {
            // All that are left are of other kinds.
            idle.remove(0);
        }
        None
    }

    /// The live schema, by any connection: it is for everybody to read.
    async fn live_schema(&self, rights: Rights) -> Result<SchemaName, ReadModelError> {
        if let Some(schema) = self.live.lately() {
            return Ok(schema);
        }
        let _turn = self.live.turn().await;
        if let Some(schema) = self.live.lately() {
            return Ok(schema);
        }
        let idle = self.idle().pop();
        if let Some(mut session) = idle {
            if let Ok(schema) = look(&mut session.connection).await {
                self.keep(session, schema);
                return Ok(schema);
            }
            self.idle().clear();
        }
        let mut session = self.connect((rights, self.live.guess())).await?;
        let schema = look(&mut session.connection).await?;
        self.keep(session, schema);
        Ok(schema)
    }

    /// Keeps the connection that found out which schema is live, and closes those of the one that was before.
    fn keep(&self, session: Session, live: SchemaName) {
        let is_another = self.live.learn(live);
        let mut idle = self.idle();
        if is_another {
            idle.retain(|session| session.schema == live);
        }
        if session.schema == live {
            idle.push(session);
        }
    }

    async fn connect(&self, (rights, schema): Kind) -> Result<Session, ReadModelError> {
        let within = |login: &PgConnectOptions| {
            let path = [("search_path", schema.to_string())];
            login.clone().options(path)
        };
        // Boxed: rare, and as large as a handshake of TLS.
        let connection = match rights {
            Rights::Owner => Box::pin(within(&self.owner).connect()).await?,
            Rights::Reader => {
                let connected = Box::pin(within(&self.reader).connect()).await;
                connected.map_err(|error| reader_role::connect_error(error, &self.owner))?
            }
        };
        Ok(Session {
            connection,
            rights,
            schema,
            tenant: None,
        })
    }
}

impl Lent {
    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        &mut self.session.connection
    }

    /// Lets the connection see the tenant's rows, and no others. A round trip only when it saw another's.
    pub(crate) async fn see(&mut self, access: &TenantAccess) -> Result<(), sqlx::Error> {
        let tenant = access.tenant();
        if self.session.tenant.as_ref() == Some(tenant) {
            return Ok(());
        }
        // Until the answer is there, it is not known whose rows it sees.
        self.session.tenant = None;
        row_security::see(&mut self.session.connection, tenant).await?;
        self.session.tenant = Some(tenant.clone());
        Ok(())
    }

    /// Keeps the connection for the next. Only for one that has been read to the end of its answer.
    pub(crate) fn give_back(self) {
        let Self {
            session,
            shared,
            permit,
        } = self;
        shared.idle().push(session);
        drop(permit);
    }
}
