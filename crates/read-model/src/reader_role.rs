//! The role that readers take on: it may only read, and only rows of the tenant that its connection is set to.
//!
//! Roles belong to the whole cluster, so this one is made beside the migrations, which belong to a database, and every
//! statement here may meet another process, migrating another database, that does the same at this moment.

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use crate::error::{ReadModelError, sqlstate_of};

/// The role of every connection that reads for a tenant.
pub const READER_ROLE: &str = "hansard_reader";

const CREATE_ROLE: &str = "CREATE ROLE hansard_reader NOLOGIN";
/// Whether the role is there, and whether the session may take it on. Before 16, every member may.
const ROLE_STATE: &str = "
    SELECT count(*) > 0, coalesce(bool_or(pg_has_role(oid, $1)), false)
    FROM pg_roles WHERE rolname = 'hansard_reader'";
const SET_OPTION_SINCE: i32 = 160_000;

const INSUFFICIENT_PRIVILEGE: &str = "42501";
const NO_SUCH_ROLE: &str = "22023";
/// What a statement meets when another process does the same at the same moment: the role or the grant is there already,
/// or its row is just being changed.
const DONE_BY_ANOTHER: [&str; 3] = ["42710", "23505", "XX000"];

/// The options of a connection that takes on the role from its first moment: a reset falls back to it, not to the login.
pub(crate) fn options(login: &PgConnectOptions) -> PgConnectOptions {
    login.clone().options([("role", READER_ROLE)])
}

/// Makes the role, and lets this login take it on, where either is missing.
///
/// # Errors
/// [`ReadModelError::AdministratorNeeded`] when the login may not, or [`ReadModelError::Unavailable`].
pub(crate) async fn ensure(connection: &mut PgConnection) -> Result<(), ReadModelError> {
    if !state(connection).await?.exists {
        run(connection, CREATE_ROLE.to_owned()).await?;
    }
    if !state(connection).await?.is_ours {
        let login = connection.fetch_one("SELECT quote_ident(current_user)");
        let login: String = login.await?.try_get(0)?;
        run(connection, grant(&login)).await?;
    }
    if state(connection).await?.is_ours {
        return Ok(());
    }
    Err(ReadModelError::unavailable(
        "another process is changing who may read",
    ))
}

/// Why a reader's connection was not made. What an administrator or a projector can mend meanwhile may be tried again.
pub(crate) fn connect_error(error: sqlx::Error, login: &PgConnectOptions) -> ReadModelError {
    match sqlstate_of(&error).as_deref() {
        Some(INSUFFICIENT_PRIVILEGE) => ReadModelError::unavailable(format!(
            "this login may not take on the role of readers; an administrator of Postgres must run: {}",
            grant(&quoted(login.get_username()))
        )),
        Some(NO_SUCH_ROLE) => ReadModelError::unavailable(format!(
            "the role {READER_ROLE} is not there: run hansard migrate, or start a projector that migrates"
        )),
        _ => error.into(),
    }
}

#[derive(Debug, Clone, Copy)]
struct RoleState {
    exists: bool,
    is_ours: bool,
}

async fn state(connection: &mut PgConnection) -> Result<RoleState, ReadModelError> {
    let version = connection.fetch_one("SELECT current_setting('server_version_num')::integer");
    let version: i32 = version.await?.try_get(0)?;
    let right = if version < SET_OPTION_SINCE {
        "MEMBER"
    } else {
        "SET"
    };
    let row = sqlx::query(ROLE_STATE).bind(right);
    let row = row.fetch_one(connection).await?;
    Ok(RoleState {
        exists: row.try_get(0)?,
        is_ours: row.try_get(1)?,
    })
}

async fn run(connection: &mut PgConnection, statement: String) -> Result<(), ReadModelError> {
    // A name in it is quoted, and comes from the login.
    let outcome = connection.execute(AssertSqlSafe(statement.clone())).await;
    let Err(error) = outcome else { return Ok(()) };
    match sqlstate_of(&error).as_deref() {
        Some(code) if DONE_BY_ANOTHER.contains(&code) => Ok(()),
        Some(INSUFFICIENT_PRIVILEGE) => Err(ReadModelError::AdministratorNeeded { statement }),
        _ => Err(error.into()),
    }
}

/// Lets a login take the role on; `login` is quoted.
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
        for (name, expected) in [
            ("svc", "GRANT hansard_reader TO \"svc\""),
            ("a\"b", "GRANT hansard_reader TO \"a\"\"b\""),
        ] {
            assert_eq!(grant(&quoted(name)), expected);
        }
    }
}
