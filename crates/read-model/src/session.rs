//! One session of Postgres: its settings and its transactions.
//!
//! A session starts with its settings, or each of its transactions sets them. The second way is for poolers such as
//! `PgBouncer`: they refuse or drop the options of a connection, and may run each transaction in another session of Postgres.
//! Then a statement outside a transaction could run under the role of the login, which row-level security does not
//! restrict. So every statement has a transaction, which begins with the settings. A prepared statement lives as long
//! as its transaction: another session does not have it, or has another one of that name.

use domain::{TenantAccess, TenantId};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};
use uuid::Uuid;

use crate::error::{ReadModelError, sqlstate_of};
use crate::live::{ProjectionTables, SchemaName, read_live_schema};
use crate::reader_role::READER_ROLE;
use crate::row_security::{self, TENANT};
use crate::server_version::ServerVersion;
use crate::session_settings::{SessionSettings, set_local};
use crate::sqlstate::PROTOCOL_VIOLATION;

/// The rights of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rights {
    /// Those of the login, which owns the tables: for projections.
    Owner,
    /// Those of the reader role: for reads of one tenant.
    Reader,
}

/// Sessions of one kind are interchangeable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) rights: Rights,
    pub(crate) tables: ProjectionTables,
    pub(crate) schema: SchemaName,
}

/// A session of one kind.
#[derive(Debug)]
pub(crate) struct Session {
    connection: PgConnection,
    kind: Kind,
    /// The statement that sets the settings of a transaction; `None`: the session has them.
    set_local: Option<String>,
    /// The tenant whose rows the session of a reader sees; `None`: no tenant's, or unknown.
    tenant: Option<TenantId>,
    /// From the begin of a transaction until its commit succeeded.
    is_in_transaction: bool,
}

/// Why no session was opened.
#[derive(Debug)]
pub(crate) enum OpenError {
    /// There is no connection.
    Connect(sqlx::Error),
    /// The server, or a pooler before it, cannot be used.
    Unsupported(String),
}

impl From<sqlx::Error> for OpenError {
    fn from(error: sqlx::Error) -> Self {
        Self::Connect(error)
    }
}

impl Session {
    /// Opens a session whose settings are in effect.
    pub(crate) async fn open(
        login: &PgConnectOptions,
        settings: &SessionSettings,
        kind: Kind,
    ) -> Result<Self, OpenError> {
        let settings = settings.clone().with("search_path", kind.tables.path(kind.schema));
        let settings = match kind.rights {
            Rights::Owner => settings,
            Rights::Reader => settings.with_role(READER_ROLE),
        };
        let of = |connection| Self { connection, kind, set_local: None, tenant: None, is_in_transaction: false };
        if let Some(connection) = connect_with(login, &settings).await? {
            return Ok(of(connection));
        }
        let mut session = of(connect(login).await?);
        session.set_local = Some(settings.set_local_sql());
        session.check_transactions(&settings).await?;
        Ok(session)
    }

    /// Checks that a transaction has its settings from one statement to the next.
    async fn check_transactions(&mut self, settings: &SessionSettings) -> Result<(), OpenError> {
        if let Err(error) = self.begin("BEGIN", None).await {
            let is_refused = sqlstate_of(&error).as_deref() == Some(PROTOCOL_VIOLATION);
            return Err(if is_refused { OpenError::Unsupported(NO_TRANSACTIONS.to_owned()) } else { error.into() });
        }
        let first = settings.read(&mut self.connection).await?;
        let second = settings.read(&mut self.connection).await?;
        let moved = || (first != second).then(|| "its statements run in several sessions".to_owned());
        if let Some(problem) = settings.mismatch(&first).or_else(moved) {
            return Err(OpenError::Unsupported(format!(
                "is a pooler that does not keep the settings of a transaction ({problem}): set its pool_mode to transaction or session, \
                 or give the URL of Postgres itself"
            )));
        }
        Ok(self.commit().await?)
    }

    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        &mut self.connection
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn tenant(&self) -> Option<&TenantId> {
        self.tenant.as_ref()
    }

    /// Whether only its transactions have the settings.
    pub(crate) fn is_of_pooler(&self) -> bool {
        self.set_local.is_some()
    }

    /// Whether a transaction has not ended, or how it ended is unknown.
    pub(crate) fn is_in_transaction(&self) -> bool {
        self.is_in_transaction
    }

    /// Reads the live schema from the database.
    pub(crate) async fn live_schema(&mut self) -> Result<SchemaName, ReadModelError> {
        self.begin_statement(None).await?;
        let schema = read_live_schema(&mut self.connection).await?;
        self.end_statement().await?;
        Ok(schema)
    }

    /// Prepares the session for one statement, a reader's for one of a tenant. Direct sessions need a round trip only if the tenant
    /// changes.
    pub(crate) async fn begin_statement(&mut self, access: Option<&TenantAccess>) -> Result<(), sqlx::Error> {
        if self.is_of_pooler() {
            return self.begin("BEGIN", access).await;
        }
        match access {
            Some(access) => self.set_tenant(access).await,
            None => Ok(()),
        }
    }

    /// Follows the statement of [`Session::begin_statement`].
    pub(crate) async fn end_statement(&mut self) -> Result<(), sqlx::Error> {
        if self.is_of_pooler() { self.commit().await } else { Ok(()) }
    }

    /// Begins a transaction, a reader's for a tenant. `begin` is its first statement; settings of the transaction may follow.
    pub(crate) async fn begin(
        &mut self,
        begin: &'static str,
        access: Option<&TenantAccess>,
    ) -> Result<(), sqlx::Error> {
        let Some(set_local) = &self.set_local else {
            if let Some(access) = access {
                self.set_tenant(access).await?;
            }
            self.is_in_transaction = true;
            return self.connection.execute(begin).await.map(drop);
        };
        let sql = begin_with(begin, set_local, access);
        self.is_in_transaction = true;
        // Boxed: a rare future.
        Box::pin(self.connection.execute(AssertSqlSafe(sql))).await.map(drop)
    }

    /// Commits the transaction.
    pub(crate) async fn commit(&mut self) -> Result<(), sqlx::Error> {
        if self.is_of_pooler() {
            Box::pin(self.connection.clear_cached_statements()).await?;
        }
        self.connection.execute("COMMIT").await?;
        self.is_in_transaction = false;
        Ok(())
    }

    /// Limits the session to the tenant's rows.
    async fn set_tenant(&mut self, access: &TenantAccess) -> Result<(), sqlx::Error> {
        let tenant = access.tenant();
        if self.tenant.as_ref() == Some(tenant) {
            return Ok(());
        }
        // Unknown until Postgres answers.
        self.tenant = None;
        row_security::set_tenant(&mut self.connection, tenant).await?;
        self.tenant = Some(tenant.clone());
        Ok(())
    }
}

const SHARED_SESSIONS: &str = "is a pooler that passes startup options to sessions that several connections share: set its pool_mode to \
    session, or let it drop startup options";
const NO_TRANSACTIONS: &str =
    "is a pooler that refuses transactions: set its pool_mode to transaction or session (SQLSTATE 08P01)";

/// The statements that begin a transaction with settings.
fn begin_with(begin: &str, set_local_sql: &str, access: Option<&TenantAccess>) -> String {
    let (begin, more) = begin.split_once(';').unwrap_or((begin, ""));
    let tenant = access.map(|access| format!(", {}", set_local(TENANT, access.tenant().as_str()))).unwrap_or_default();
    // `more` is last: it may change one of the settings.
    format!("{begin}; {set_local_sql}{tenant}; {more}")
}

/// A connection whose session starts with the settings. `None`: a pooler refuses or drops them.
async fn connect_with(login: &PgConnectOptions, settings: &SessionSettings) -> Result<Option<PgConnection>, OpenError> {
    let id = Uuid::new_v4().to_string();
    let mut connection = match connect(&settings.startup_options(login, &id)).await {
        Err(OpenError::Connect(error)) if sqlstate_of(&error).as_deref() == Some(PROTOCOL_VIOLATION) => {
            return Ok(None);
        }
        outcome => outcome?,
    };
    let first = settings.read(&mut connection).await?;
    if first.connection().is_empty() {
        return Ok(None);
    }
    // Two transactions of a session have the same process of the server.
    let second = settings.read(&mut connection).await?;
    if first != second || first.connection() != id {
        return Err(OpenError::Unsupported(SHARED_SESSIONS.to_owned()));
    }
    Ok(settings.mismatch(&first).is_none().then_some(connection))
}

/// A connection to a server of a supported version.
async fn connect(options: &PgConnectOptions) -> Result<PgConnection, OpenError> {
    // Boxed: a rare future, as large as a TLS handshake.
    let connection = Box::pin(options.connect()).await?;
    match ServerVersion::of(&connection).problem() {
        None => Ok(connection),
        Some(problem) => Err(OpenError::Unsupported(problem)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_follow_the_begin_of_a_transaction() {
        let tenant = TenantAccess::grant(TenantId::parse("acme").unwrap());
        for (begin, access, expected) in [
            ("BEGIN", None, "BEGIN; SELECT s; "),
            ("BEGIN; SET LOCAL a = b", None, "BEGIN; SELECT s;  SET LOCAL a = b"),
            ("BEGIN", Some(&tenant), "BEGIN; SELECT s, set_config('hansard.tenant', 'acme', true); "),
        ] {
            assert_eq!(begin_with(begin, "SELECT s", access), expected);
        }
    }
}
