//! What SQLSTATEs mean, and what an operator can do. The texts contain no values of rows.

/// The server has no room for another connection.
pub(crate) const TOO_MANY_CONNECTIONS: &str = "53300";
/// A pooler refuses a parameter of a connection, a transaction or a login.
pub(crate) const PROTOCOL_VIOLATION: &str = "08P01";

/// The meaning of a SQLSTATE and the remedy, after a colon; empty: the code is rare, see the manual of Postgres.
pub(crate) fn meaning(sqlstate: &str) -> &'static str {
    match sqlstate {
        PROTOCOL_VIOLATION => ": a pooler refuses the login or a statement; see its log",
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
