//! What the refusals of Postgres mean, and what an operator can do. The texts contain names of servers, databases and logins, never
//! values of rows.

use sqlx::postgres::PgConnectOptions;

use crate::error::{ReadModelError, sqlstate_of};

/// The server has no room for another connection.
pub(crate) const TOO_MANY_CONNECTIONS: &str = "53300";

/// The meaning of a SQLSTATE and the remedy, after a colon; empty: the code is rare, see the manual of Postgres.
pub(crate) fn meaning(sqlstate: &str) -> &'static str {
    match sqlstate {
        "25006" => ": the database is read-only; give the URL of the primary, or reset default_transaction_read_only",
        "28000" | "28P01" => ": the login or its password is wrong; correct them in the database URL",
        "3D000" => ": the database does not exist; create it, or correct the database URL",
        "42501" => ": the login lacks a right; run hansard migrate with the owner's login",
        "53100" => ": the disk of the server is full",
        TOO_MANY_CONNECTIONS => {
            ": the server has too many connections; raise its max_connections, or lower connections_max"
        }
        "57014" => ": the statement took longer than statement_timeout_ms",
        "57P03" => ": the server starts or shuts down",
        _ => "",
    }
}

/// Why a login got no connection. What an administrator can solve is retried.
pub(crate) fn connect_error(error: sqlx::Error, login: &PgConnectOptions) -> ReadModelError {
    let code = sqlstate_of(&error).unwrap_or_default();
    let (server, user) = (server_of(login), login.get_username());
    let database = login.get_database().unwrap_or(user);
    let reason = match code.as_str() {
        "28000" | "28P01" => format!("rejects the login {user}: correct it or its password in the database URL"),
        "3D000" => format!("has no database {database}: create it, or correct the database URL"),
        "42501" => format!("does not let {user} connect to {database}: GRANT CONNECT ON DATABASE {database} TO {user}"),
        TOO_MANY_CONNECTIONS => {
            format!(
                "has no room for another connection of {user} to {database}: raise its max_connections, or lower connections_max"
            )
        }
        _ => return error.into(),
    };
    ReadModelError::unavailable(format!("Postgres at {server} {reason} (SQLSTATE {code})"))
}

/// The address of the server of a login, without credentials.
pub(crate) fn server_of(login: &PgConnectOptions) -> String {
    let port = login.get_port();
    match login.get_socket() {
        Some(folder) => format!("{}:{port}", folder.display()),
        None => format!("{}:{port}", login.get_host()),
    }
}
