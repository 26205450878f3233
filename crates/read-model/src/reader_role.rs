//! The reader role: it may only read, and only rows of the tenant that is set for its connection.
//!
//! Roles belong to the whole cluster, migrations to one database. So the role is created outside the migrations, and
//! another process may run the same statements concurrently while it migrates another database.

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use crate::error::{ReadModelError, sqlstate_of};
use crate::refusal;

/// The role of connections that read for a tenant.
pub const READER_ROLE: &str = "hansard_reader";

const CREATE_ROLE: &str = "CREATE ROLE hansard_reader NOLOGIN";
/// Whether the role exists, and whether the session may use it.
const ROLE_STATE: &str = "
    SELECT count(*) > 0, coalesce(bool_or(pg_has_role(oid, 'SET')), false)
    FROM pg_roles WHERE rolname = 'hansard_reader'";

const INSUFFICIENT_PRIVILEGE: &str = "42501";
const NO_SUCH_ROLE: &str = "22023";
/// SQLSTATEs if another process ran the same statement: the role or the grant exists, or its row is being updated.
const DONE_BY_ANOTHER: [&str; 3] = ["42710", "23505", "XX000"];

/// Creates the role if it is missing, and grants it to this login if needed.
///
/// # Errors
/// [`ReadModelError::AdministratorNeeded`] if the login may not, or [`ReadModelError::Unavailable`].
pub(crate) async fn ensure(connection: &mut PgConnection) -> Result<(), ReadModelError> {
    if !state(connection).await?.exists {
        run(connection, CREATE_ROLE.to_owned()).await?;
    }
    if !state(connection).await?.is_usable {
        let login: String = connection.fetch_one("SELECT quote_ident(current_user)").await?.try_get(0)?;
        run(connection, grant(&login)).await?;
    }
    if state(connection).await?.is_usable {
        return Ok(());
    }
    Err(ReadModelError::unavailable("another process is changing the reader role"))
}

/// Why a reader could not connect. Problems that an administrator or a projector can solve are retried.
pub(crate) fn connect_error(error: sqlx::Error, login: &PgConnectOptions) -> ReadModelError {
    match sqlstate_of(&error).as_deref() {
        Some(INSUFFICIENT_PRIVILEGE) => ReadModelError::unavailable(format!(
            "this login may not use the reader role; a Postgres administrator must run: {}",
            grant(&quoted(login.get_username()))
        )),
        Some(NO_SUCH_ROLE) => ReadModelError::unavailable(format!(
            "the role {READER_ROLE} does not exist: run hansard migrate, or start a projector that migrates"
        )),
        _ => refusal::connect_error(error, login),
    }
}

#[derive(Debug, Clone, Copy)]
struct RoleState {
    exists: bool,
    is_usable: bool,
}

async fn state(connection: &mut PgConnection) -> Result<RoleState, ReadModelError> {
    let row = connection.fetch_one(ROLE_STATE).await?;
    Ok(RoleState { exists: row.try_get(0)?, is_usable: row.try_get(1)? })
}

async fn run(connection: &mut PgConnection, statement: String) -> Result<(), ReadModelError> {
    // The only name in it is the quoted login.
    let outcome = connection.execute(AssertSqlSafe(statement.clone())).await;
    let Err(error) = outcome else { return Ok(()) };
    match sqlstate_of(&error).as_deref() {
        Some(code) if DONE_BY_ANOTHER.contains(&code) => Ok(()),
        Some(INSUFFICIENT_PRIVILEGE) => Err(ReadModelError::AdministratorNeeded { statement }),
        _ => Err(error.into()),
    }
}

/// Grants the role to a login, which must be quoted.
fn grant(login: &str) -> String {
    format!("GRANT {READER_ROLE} TO {login}")
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_quoted() {
        for (name, expected) in
            [("svc", "GRANT hansard_reader TO \"svc\""), ("a\"b", "GRANT hansard_reader TO \"a\"\"b\"")]
        {
            assert_eq!(grant(&quoted(name)), expected);
        }
    }
}
