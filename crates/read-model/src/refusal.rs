//! Why Postgres refuses a login, and what an operator can do. The texts contain names of servers, databases and logins.

use sqlx::postgres::PgConnectOptions;

use crate::error::{ReadModelError, sqlstate_of};
use crate::sqlstate::{PROTOCOL_VIOLATION, TOO_MANY_CONNECTIONS};

/// Why a login got no connection. What an administrator can solve is retried.
pub(crate) fn connect_error(error: sqlx::Error, login: &PgConnectOptions) -> ReadModelError {
    let code = sqlstate_of(&error).unwrap_or_default();
    let (server, user) = (server_of(login), login.get_username());
    let database = login.get_database().unwrap_or(user);
    let reason = match code.as_str() {
        "28000" | "28P01" => format!("rejects the login {user}: correct it or its password in the database URL"),
        "3D000" => format!("has no database {database}: create it, or correct the database URL"),
        "42501" => format!("does not let {user} connect to {database}: GRANT CONNECT ON DATABASE {database} TO {user}"),
        PROTOCOL_VIOLATION => {
            format!(
                "is a pooler that refuses {user} or a startup parameter: see its log, and remove options from the database URL"
            )
        }
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
