//! The handle to the read models: statements and transactions with timeouts.

mod admission;
mod replicas;
pub mod shards;

use std::sync::Arc;
use std::time::Duration;

use domain::{TenantAccess, TenantFilter};
use futures::future::BoxFuture;
use sqlx::Executor as _;
use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use thiserror::Error;
use tokio::time::timeout;

use crate::config::ReadModelConfig;
use crate::connections::{Connections, PooledConnection};
use crate::error::{ReadModelError, is_conflict, is_lost, is_missing, is_timeout};
use crate::live::{ProjectionTables, SchemaName, Target};
use crate::migrations::READ_MIGRATIONS;
use crate::schema;
use crate::session::Rights;
use admission::Admission;
use replicas::{Pin, Replicas};
pub use replicas::{
    REPLICA_LAG_MS_MAX, REPLICA_LAG_MS_MIN, REPLICAS_MAX, ReplicaStatus, ReplicaUse, ReplicatedReadModelConfig,
    replica_status, server_name,
};
use shards::KnownAssignments;

/// Added to the statement timeout of the server: a frozen server cancels nothing.
const ANSWER_MARGIN: Duration = Duration::from_millis(500);
/// A transaction may take this many times the timeout of a statement.
const TRANSACTION_STATEMENTS: u32 = 2;

/// Whether a transaction must survive a crash of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// It must survive.
    Durable,
    /// It may be lost as a whole: the projector repeats it from the record, starting at the checkpoint in the same
    /// transaction. So it does not wait for the disk.
    Repeatable,
}

impl Durability {
    fn begin(self) -> &'static str {
        match self {
            Self::Durable => "BEGIN",
            Self::Repeatable => "BEGIN; SET LOCAL synchronous_commit = off",
        }
    }
}

/// A handle to the read models of one database, by default in the live schema. Clones share the connections. With shards, reads for a
/// tenant use its database, and everything else the first one.
#[derive(Debug, Clone)]
pub struct ReadModel {
    connections: Connections,
    target: Target,
    tables: ProjectionTables,
    answer_timeout: Duration,
    transaction_timeout: Duration,
    /// The replicas among which [`ReadModel::for_request`] chooses; `None`: there are none, or this is a handle of a request.
    replicas: Option<Arc<Replicas>>,
    /// The replica that reads use; `None`: they use the primary.
    pin: Option<Pin>,
    /// The other databases. Empty: there are none, or this is a handle of one database.
    shards: Arc<[Self]>,
    /// The name of the shard; `None`: this is the first database.
    name: Option<Arc<str>>,
    /// The tenants whose rows the database has, by the configuration.
    tenants: TenantFilter,
    known: KnownAssignments,
    admission: Arc<Admission>,
}

impl ReadModel {
    /// A handle that connects at the first use.
    ///
    /// # Errors
    /// [`ReadModelError::Misconfigured`], [`ReadModelError::File`].
    pub fn connect_lazy(config: &ReadModelConfig) -> Result<Self, ReadModelError> {
        Self::with_shards(config, shards::connect_lazy(config)?)
    }

    fn with_shards(config: &ReadModelConfig, shards: Arc<[Self]>) -> Result<Self, ReadModelError> {
        let statement_timeout = Duration::from_millis(config.statement_timeout_ms);
        Ok(Self {
            connections: Connections::of(config)?,
            target: Target::Live,
            tables: ProjectionTables::Conversations,
            answer_timeout: statement_timeout + ANSWER_MARGIN,
            transaction_timeout: statement_timeout * TRANSACTION_STATEMENTS + ANSWER_MARGIN,
            replicas: None,
            pin: None,
            shards,
            name: None,
            tenants: shards::tenants_of_first(config)?,
            known: KnownAssignments::default(),
            admission: Arc::default(),
        })
    }

    /// As [`ReadModel::connect_lazy`], for a process whose requests also read from replicas, while
    /// [`ReadModel::watch_replicas`] runs.
    ///
    /// # Errors
    /// As [`ReadModel::connect_lazy`].
    pub fn connect_replicated(config: &ReplicatedReadModelConfig) -> Result<Self, ReadModelError> {
        Ok(Self {
            replicas: Replicas::new(config)?.map(Arc::new),
            ..Self::with_shards(&config.primary, shards::connect_replicated(config)?)?
        })
    }

    /// A handle to one schema, live or not: a projector must not follow the pointer.
    #[must_use]
    pub fn in_schema(&self, schema: SchemaName) -> Self {
        Self { target: Target::Fixed(schema), ..self.clone() }
    }

    /// A handle to the tables of the projection `search`, beside those of conversations: for its leases and its writes.
    #[must_use]
    pub fn for_search(&self) -> Self {
        Self { tables: ProjectionTables::Search, ..self.clone() }
    }

    /// Reads the live schema from the database.
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`], or [`ReadModelError::Corrupt`] if the name is not a schema of the projection.
    pub async fn live_schema(&self) -> Result<SchemaName, ReadModelError> {
        let mut pooled = self.acquire().await?;
        let schema =
            timeout(self.answer_timeout, pooled.session().live_schema()).await.unwrap_or_else(|_| Err(no_answer()))?;
        pooled.release();
        Ok(schema)
    }

    /// Runs the migrations, one process at a time, and creates the reader role. Closes its connection, which has no timeout.
    ///
    /// # Errors
    /// [`ReadModelError::AdministratorNeeded`] if the login may not create roles,
    /// [`ReadModelError::SchemaUnknown`] if a program must know a later migration, [`ReadModelError::SchemaAltered`],
    /// or [`ReadModelError::Unavailable`], also if migrations are missing and the connection is to a pooler.
    pub async fn migrate(&self) -> Result<(), ReadModelError> {
        let mut pooled = self.acquire().await?;
        let Err(refused) = pooled.check_is_direct() else {
            return schema::migrate(pooled.connection()).await;
        };
        pooled.release();
        match self.check_schema().await {
            Err(error) if error.is_unavailable() => Err(refused),
            outcome => outcome,
        }
    }

    /// Health check: Postgres answers, this program supports its schema, and this login may read.
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`], also if migrations are missing or the login may not use the reader role; or
    /// [`ReadModelError::SchemaUnknown`].
    pub async fn check(&self) -> Result<(), ReadModelError> {
        self.check_schema().await?;
        self.acquire_reader().await?.release();
        Ok(())
    }

    async fn check_schema(&self) -> Result<(), ReadModelError> {
        let rows = self.fetch(READ_MIGRATIONS, PgArguments::default).await?;
        schema::check(&rows)
    }

    /// Runs one read for a tenant in its database. Row-level security hides the rows of other tenants.
    ///
    /// The type of the future is erased: it is part of most futures of the gateway, and the compiler would examine it in each.
    pub(crate) fn read<'a>(
        &'a self,
        access: &'a TenantAccess,
        sql: &'static str,
        arguments: impl Fn() -> PgArguments + Send + Sync + 'a,
    ) -> BoxFuture<'a, Result<Vec<PgRow>, ReadModelError>> {
        Box::pin(async move {
            let shard = self.shard_of(access.tenant());
            let database = shard.as_ref().unwrap_or(self);
            database.check_has_rows_of(access).await?;
            database.fetch_with_retry(Some(access), sql, &arguments).await
        })
    }

    /// Begins a transaction of reads of a tenant in its database. `begin` starts it, and sets its timeouts after a semicolon.
    ///
    /// # Errors
    /// Those of the connection: the caller may begin again after [`ReadModel::close_idle`].
    pub(crate) async fn begin_read(
        &self,
        access: &TenantAccess,
        begin: &'static str,
    ) -> Result<ReadTransaction, ReadTransactionError> {
        let shard = self.shard_of(access.tenant());
        let database = shard.as_ref().unwrap_or(self);
        database.admission.ready().await?;
        database.check_has_rows_of(access).await?;
        let (of, rights) = ((database.target, database.tables), Rights::Reader);
        let acquired = database.reading_connections().acquire(of, rights, Some(access)).await;
        let mut pooled = acquired.map_err(|error| database.with_name(error))?;
        pooled.session().begin(begin, Some(access)).await?;
        Ok(ReadTransaction(pooled))
    }

    /// Closes idle connections, which may be lost.
    pub(crate) fn close_idle(&self) {
        self.connections.close_idle();
    }

    /// Runs one statement of a projection, or a permitted read across all tenants. The type of the future is erased, as that
    /// of [`ReadModel::read`].
    pub(crate) fn fetch<'a>(
        &'a self,
        sql: &'static str,
        arguments: impl Fn() -> PgArguments + Send + Sync + 'a,
    ) -> BoxFuture<'a, Result<Vec<PgRow>, ReadModelError>> {
        Box::pin(async move { self.fetch_with_retry(None, sql, &arguments).await })
    }

    /// Retries once with a new connection: the server may have restarted, or the schema may have been dropped after a
    /// switch. If a replica does not answer, the primary does.
    async fn fetch_with_retry(
        &self,
        access: Option<&TenantAccess>,
        sql: &'static str,
        arguments: &(dyn Fn() -> PgArguments + Send + Sync),
    ) -> Result<Vec<PgRow>, ReadModelError> {
        self.admission.ready().await?;
        if self.pin.is_some()
            && let Some(answer) = self.fetch_from_replica(access, sql, arguments).await
        {
            return answer;
        }
        let fetch = || self.fetch_once(&self.connections, access, sql, arguments());
        match fetch().await {
            Err(Failure::Lost(_) | Failure::Missing(_)) => {
                self.connections.close_idle();
                fetch().await
            }
            answer => answer,
        }
        .map_err(|failure| self.with_name(failure.into_error()))
    }

    /// An error of this database, with its name if it is a shard.
    fn with_name(&self, error: ReadModelError) -> ReadModelError {
        match self.shard_name() {
            Some(shard) => error.of_shard(shard),
            None => error,
        }
    }

    /// A connection of the owner, for several statements.
    pub(crate) async fn acquire(&self) -> Result<PooledConnection, ReadModelError> {
        self.admission.ready().await?;
        let rights = Rights::Owner;
        let acquired = self.connections.acquire((self.target, self.tables), rights, None);
        acquired.await.map_err(|error| self.with_name(error))
    }

    /// As [`ReadModel::acquire`], for statements outside of transactions and locks of the session.
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`], also for a connection to a pooler.
    pub(crate) async fn acquire_direct(&self) -> Result<PooledConnection, ReadModelError> {
        let pooled = self.acquire().await?;
        pooled.check_is_direct().map_err(|error| self.with_name(error))?;
        Ok(pooled)
    }

    /// A connection of a reader, without a tenant.
    pub(crate) async fn acquire_reader(&self) -> Result<PooledConnection, ReadModelError> {
        self.admission.ready().await?;
        let rights = Rights::Reader;
        self.connections.acquire((self.target, self.tables), rights, None).await
    }

    /// Runs a transaction. Commits it if `work` succeeds; otherwise closes the connection, which rolls it back.
    pub(crate) async fn transaction<T, E: From<ReadModelError>>(
        &self,
        durability: Durability,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut pooled = self.acquire().await?;
        let session = pooled.session();
        let whole = async {
            session.begin(durability.begin(), None).await.map_err(ReadModelError::from)?;
            let outcome = work(session.connection()).await?;
            session.commit().await.map_err(ReadModelError::from)?;
            Ok(outcome)
        };
        let outcome = timeout(self.transaction_timeout, whole).await.unwrap_or_else(|_| Err(no_answer().into()));
        match &outcome {
            Ok(_) => pooled.release(),
            // Idle connections may be lost too, and a transaction is too expensive to find out.
            Err(_) => self.connections.close_idle(),
        }
        outcome
    }

    /// Runs long statements without timeouts and with the planner's defaults. Closes the connection afterwards. Dropping the
    /// future cancels the statements.
    pub(crate) async fn without_timeouts<T>(
        &self,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, ReadModelError>,
    ) -> Result<T, ReadModelError> {
        let mut pooled = self.acquire_direct().await?;
        pooled.connection().execute(include_str!("no_timeouts.sql")).await?;
        work(pooled.connection()).await
    }

    /// Runs one statement on a server.
    async fn fetch_once(
        &self,
        connections: &Connections,
        access: Option<&TenantAccess>,
        sql: &'static str,
        arguments: PgArguments,
    ) -> Result<Vec<PgRow>, Failure> {
        let rights = access.map_or(Rights::Owner, |_| Rights::Reader);
        let of = (self.target, self.tables);
        let mut pooled = connections.acquire(of, rights, access).await.map_err(Failure::Final)?;
        let answer = async {
            pooled.session().begin_statement(access).await?;
            let query = sqlx::query_with(sql, arguments);
            let rows = query.fetch_all(pooled.connection()).await?;
            pooled.session().end_statement().await?;
            Ok(rows)
        };
        match timeout(self.answer_timeout, answer).await {
            Ok(Ok(rows)) => {
                pooled.release();
                Ok(rows)
            }
            Ok(Err(error)) if is_lost(&error) || is_missing(&error) => Err(Failure::of(error)),
            Ok(Err(error)) => {
                pooled.release();
                Err(Failure::of(error))
            }
            Err(_) => Err(Failure::Final(no_answer())),
        }
    }
}

/// A transaction of reads. Dropping it closes its connection.
#[derive(Debug)]
pub(crate) struct ReadTransaction(PooledConnection);

impl ReadTransaction {
    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        self.0.connection()
    }

    /// Ends it, and returns its connection to the pool.
    pub(crate) async fn commit(mut self) -> Result<(), sqlx::Error> {
        self.0.session().commit().await?;
        self.0.release();
        Ok(())
    }
}

/// Why a transaction of reads failed.
#[derive(Debug, Error)]
pub(crate) enum ReadTransactionError {
    #[error(transparent)]
    ReadModel(#[from] ReadModelError),
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
}

impl ReadTransactionError {
    /// Whether a statement took longer than its timeout.
    pub(crate) fn is_timeout(&self) -> bool {
        matches!(self, Self::Sql(error) if is_timeout(error))
    }

    /// Whether another connection may succeed: this one is lost, or the schema was dropped after a switch.
    pub(crate) fn is_retryable(&self) -> bool {
        matches!(self, Self::Sql(error) if is_lost(error) || is_missing(error))
    }

    pub(crate) fn into_error(self) -> ReadModelError {
        match self {
            Self::ReadModel(error) => error,
            Self::Sql(error) => error.into(),
        }
    }
}

fn no_answer() -> ReadModelError {
    ReadModelError::unavailable("no answer from Postgres in time")
}

/// Why a read failed.
enum Failure {
    /// The connection is lost: retried with another one.
    Lost(ReadModelError),
    /// The table is missing: as above.
    Missing(ReadModelError),
    /// A replica cancelled the statement, which conflicted with the replay of the log.
    Conflict(ReadModelError),
    Final(ReadModelError),
}

impl Failure {
    fn of(error: sqlx::Error) -> Self {
        let cause = match () {
            () if is_conflict(&error) => Self::Conflict,
            () if is_lost(&error) => Self::Lost,
            () if is_missing(&error) => Self::Missing,
            () => Self::Final,
        };
        cause(error.into())
    }

    fn into_error(self) -> ReadModelError {
        match self {
            Self::Lost(error) | Self::Missing(error) | Self::Conflict(error) | Self::Final(error) => error,
        }
    }
}

impl From<ReadTransactionError> for Failure {
    fn from(error: ReadTransactionError) -> Self {
        match error {
            ReadTransactionError::ReadModel(error) => Self::Final(error),
            ReadTransactionError::Sql(error) => Self::of(error),
        }
    }
}
