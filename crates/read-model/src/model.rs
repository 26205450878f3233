//! The handle to the read models.

use std::str::FromStr;
use std::time::Duration;

use domain::TenantAccess;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgConnection, PgRow};
use sqlx::{ConnectOptions as _, Executor as _};
use tokio::time::timeout;

use crate::certificates;
use crate::config::ReadModelConfig;
use crate::connections::{Connections, Lent, Rights};
use crate::error::{ReadModelError, is_lost, is_missing};
use crate::live::{SchemaName, Target, look};
use crate::schema;

/// How much longer than a statement's own bound its answer is waited for: a frozen server cancels nothing.
const ANSWER_MARGIN: Duration = Duration::from_millis(500);
/// How many times the bound of one statement a whole transaction may take.
const TRANSACTION_STATEMENTS: u32 = 2;

/// What a transaction is worth when the server crashes right after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// It must not be lost.
    Durable,
    /// It may be lost, whole: it is made again from the record, whose place it keeps itself. So nobody waits for the disk,
    /// which the record needs more.
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

/// The read models of one database, in the live schema unless said otherwise; clones share their connections.
#[derive(Debug, Clone)]
pub struct ReadModel {
    connections: Connections,
    target: Target,
    answer_timeout: Duration,
    transaction_timeout: Duration,
}

impl ReadModel {
    /// A handle that connects when it is first used.
    ///
    /// # Errors
    /// [`ReadModelError::Misconfigured`], [`ReadModelError::File`].
    pub fn connect_lazy(config: &ReadModelConfig) -> Result<Self, ReadModelError> {
        let acquire_timeout = Duration::from_millis(config.acquire_timeout_ms);
        let options = connect_options(config)?;
        let statement_timeout = Duration::from_millis(config.statement_timeout_ms);
        Ok(Self {
            connections: Connections::new(options, config.connections_max, acquire_timeout),
            target: Target::Live,
            answer_timeout: statement_timeout + ANSWER_MARGIN,
            transaction_timeout: statement_timeout * TRANSACTION_STATEMENTS + ANSWER_MARGIN,
        })
    }

    /// The same read models in one schema, live or not: who projects must stay in one, whatever becomes the live one.
    #[must_use]
    pub fn in_schema(&self, schema: SchemaName) -> Self {
        Self {
            target: Target::Fixed(schema),
            ..self.clone()
        }
    }

    /// The schema that is live now.
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`], or [`ReadModelError::Corrupt`] when it is none of the projection's.
    pub async fn live_schema(&self) -> Result<SchemaName, ReadModelError> {
        let mut lent = self.lend().await?;
        let looked = timeout(self.answer_timeout, look(lent.connection())).await;
        let schema = looked.unwrap_or_else(|_| {
            Err(ReadModelError::unavailable(
                "no answer from Postgres in time",
            ))
        })?;
        lent.give_back();
        Ok(schema)
    }

    /// Brings the schema up to date, one process at a time, and makes the role of its readers.
    ///
    /// # Errors
    /// [`ReadModelError::AdministratorNeeded`] when the login may not make roles,
    /// [`ReadModelError::SchemaUnknown`] when a later program has been here, [`ReadModelError::SchemaAltered`],
    /// or [`ReadModelError::Unavailable`].
    pub async fn migrate(&self) -> Result<(), ReadModelError> {
        let mut lent = self.lend().await?;
        schema::migrate(lent.connection()).await?;
        lent.give_back();
        Ok(())
    }

    /// Whether Postgres answers, its schema is one that this program knows, and this login may read: for health.
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`], also when the schema is older than this program's, or the login may not take on the
    /// readers' role; or [`ReadModelError::SchemaUnknown`].
    pub async fn check(&self) -> Result<(), ReadModelError> {
        let rows = self
            .fetch(schema::LAST_MIGRATION, PgArguments::default)
            .await?;
        schema::check(&rows)?;
        self.lend_reader().await?.give_back();
        Ok(())
    }

    /// Runs one read for a tenant: the only way to one. No other tenant's row is seen, whatever the statement says.
    pub(crate) async fn read(
        &self,
        access: &TenantAccess,
        sql: &'static str,
        arguments: impl Fn() -> PgArguments,
    ) -> Result<Vec<PgRow>, ReadModelError> {
        self.fetch_twice(Some(access), sql, arguments).await
    }

    /// Runs one statement of the projections', or one that looks across all tenants by leave.
    pub(crate) async fn fetch(
        &self,
        sql: &'static str,
        arguments: impl Fn() -> PgArguments,
    ) -> Result<Vec<PgRow>, ReadModelError> {
        self.fetch_twice(None, sql, arguments).await
    }

    /// A connection that proves dead is replaced once: the server may have been restarted since. So is one whose schema was
    /// dropped, now that another is live.
    async fn fetch_twice(
        &self,
        access: Option<&TenantAccess>,
        sql: &'static str,
        arguments: impl Fn() -> PgArguments,
    ) -> Result<Vec<PgRow>, ReadModelError> {
        // Boxed, so that what reads in the end of many calls has no room for all of it in each of them.
        let fetch = || Box::pin(self.fetch_once(access, sql, arguments()));
        match fetch().await {
            Err(Failure::Lost(_) | Failure::Missing(_)) => {
                self.connections.expel();
                let again = fetch().await;
                again.map_err(Failure::into_error)
            }
            answer => answer.map_err(Failure::into_error),
        }
    }

    /// An owner's connection, for more than one statement.
    pub(crate) async fn lend(&self) -> Result<Lent, ReadModelError> {
        let rights = Rights::Owner;
        self.connections.acquire(self.target, rights, None).await
    }

    /// A reader's connection that was told no tenant.
    pub(crate) async fn lend_reader(&self) -> Result<Lent, ReadModelError> {
        let rights = Rights::Reader;
        self.connections.acquire(self.target, rights, None).await
    }

    /// Runs a transaction: committed when `work` comes out well, else rolled back by the end of its connection.
    pub(crate) async fn transaction<T, E: From<ReadModelError>>(
        &self,
        durability: Durability,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut lent = self.lend().await?;
        let connection = lent.connection();
        let whole = async {
            execute(connection, durability.begin()).await?;
            let outcome = work(connection).await?;
            execute(connection, "COMMIT").await?;
            Ok(outcome)
        };
        let late = || Err(ReadModelError::unavailable("no answer from Postgres in time").into());
        let outcome = timeout(self.transaction_timeout, whole)
            .await
            .unwrap_or_else(|_| late());
        match outcome {
            Ok(outcome) => {
                lent.give_back();
                Ok(outcome)
            }
            Err(error) => {
                // What is idle may be as dead as this one, and a transaction is too dear to find out.
                self.connections.expel();
                Err(error)
            }
        }
    }

    /// Runs long statements, which nothing cuts short but the end of this call, with the planner's own choices. The connection
    /// is closed behind them.
    pub(crate) async fn at_leisure<T>(
        &self,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, ReadModelError>,
    ) -> Result<T, ReadModelError> {
        let mut lent = self.lend().await?;
        execute(lent.connection(), include_str!("leisure.sql")).await?;
        work(lent.connection()).await
    }

    async fn fetch_once(
        &self,
        access: Option<&TenantAccess>,
        sql: &'static str,
        arguments: PgArguments,
    ) -> Result<Vec<PgRow>, Failure> {
        let rights = access.map_or(Rights::Owner, |_| Rights::Reader);
        let lent = self.connections.acquire(self.target, rights, access).await;
        let mut lent = lent.map_err(Failure::Final)?;
        let answer = async {
            if let Some(access) = access {
                lent.see(access).await?;
            }
            let query = sqlx::query_with(sql, arguments);
            query.fetch_all(lent.connection()).await
        };
        match timeout(self.answer_timeout, answer).await {
            Ok(Ok(rows)) => {
                lent.give_back();
                Ok(rows)
            }
            Ok(Err(error)) if is_lost(&error) => Err(Failure::Lost(error.into())),
            Ok(Err(error)) if is_missing(&error) => Err(Failure::Missing(error.into())),
            Ok(Err(error)) => {
                lent.give_back();
                Err(Failure::Final(error.into()))
            }
            Err(_) => Err(Failure::Final(ReadModelError::unavailable(
                "no answer from Postgres in time",
            ))),
        }
    }
}

async fn execute(connection: &mut PgConnection, sql: &'static str) -> Result<(), ReadModelError> {
    connection.execute(sql).await?;
    Ok(())
}

/// Why a read failed, by whether another connection may do better.
enum Failure {
    Lost(ReadModelError),
    Missing(ReadModelError),
    Final(ReadModelError),
}

impl Failure {
    fn into_error(self) -> ReadModelError {
        match self {
            Self::Lost(error) | Self::Missing(error) | Self::Final(error) => error,
        }
    }
}

/// How long a transaction may stand still, in milliseconds: a process that was frozen in one gives up its locks well before
/// the leases of the others run out.
const IDLE_IN_TRANSACTION_MS_MAX: &str = "2000";

/// How every connection is set up.
///
/// Each statement here is made for one index, whose cost does not grow with a conversation or a tenant. The settings keep
/// the planner from ever choosing another way on thin statistics, and from planning again for each call.
fn connect_options(config: &ReadModelConfig) -> Result<PgConnectOptions, ReadModelError> {
    let options = PgConnectOptions::from_str(&config.database_url)
        .map_err(|_| ReadModelError::Misconfigured)?;
    certificates::check(&config.database_url)?;
    let statement_timeout = config.statement_timeout_ms.to_string();
    Ok(options
        .application_name("hansard")
        .disable_statement_logging()
        .options([
            ("statement_timeout", statement_timeout.as_str()),
            (
                "idle_in_transaction_session_timeout",
                IDLE_IN_TRANSACTION_MS_MAX,
            ),
            ("plan_cache_mode", "force_generic_plan"),
            ("enable_seqscan", "off"),
            ("enable_bitmapscan", "off"),
            ("enable_hashjoin", "off"),
            ("enable_mergejoin", "off"),
            ("jit", "off"),
        ]))
}
