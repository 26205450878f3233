//! Uses a server by the programs of Postgres: this crate uses no SQL client.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use super::USER;
use crate::error::{StackError, unrunnable};

/// Maximum size of a name in Postgres, in bytes.
const NAME_MAX_BYTES: usize = 63;
const CREATE_LIMIT: Duration = Duration::from_secs(30);

/// The address of a server for the programs of Postgres.
#[derive(Debug, Clone, Copy)]
pub(super) struct Address<'a> {
    pub(super) socket_folder: &'a Path,
    pub(super) port: u16,
}

/// The URL of a database over the Unix socket, which is faster than TCP.
pub(super) fn url(address: Address<'_>, name: &str) -> String {
    let (port, host) = (address.port, address.socket_folder.display());
    format!("postgres://{USER}@localhost:{port}/{name}?host={host}")
}

pub(super) async fn create(createdb: &Path, address: Address<'_>, name: &str) -> Result<(), StackError> {
    let failed = |reason: &str| StackError::NoDatabase { name: name.to_owned(), reason: reason.to_owned() };
    if !is_plain(name) {
        return Err(failed("a name has 1 to 63 characters (a-z, 0-9, _) and starts with a letter"));
    }
    let output = Command::new(createdb)
        .arg("-h")
        .arg(address.socket_folder)
        .args(["-p", &address.port.to_string(), "-U", USER, "--no-password"])
        // No session can be connected to template0: a session would block the copy.
        .args(["--template=template0", name])
        .env_clear()
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = timeout(CREATE_LIMIT, output)
        .await
        .map_err(|_| failed("it took longer than 30 s"))?
        .map_err(unrunnable(createdb))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if output.status.success() || stderr.contains("already exists") {
        return Ok(());
    }
    Err(failed(stderr.lines().next().unwrap_or("createdb failed")))
}

/// Logs the running transactions of a server with the program `psql`.
pub(super) async fn log_snapshot(psql: &Path, address: Address<'_>) -> Result<(), StackError> {
    let status = Command::new(psql)
        .args(["-X", "-q", "-c", "SELECT pg_log_standby_snapshot()"])
        .arg(url(address, "postgres"))
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .status();
    status.await.map(drop).map_err(unrunnable(psql))
}

/// Whether a name needs no quotes in SQL and no escapes in a URL.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.len() <= NAME_MAX_BYTES && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, plain: bool) {
        assert_eq!(is_plain(name), plain, "{name}");
    }

    #[test]
    fn names_that_need_no_quotes() {
        check("hansard", true);
        check("test_12", true);
        check(&"a".repeat(63), true);
        check(&"a".repeat(64), false);
        check("", false);
        check("-d", false);
        check("1a", false);
        check("Upper", false);
        check("a/b", false);
    }
}
