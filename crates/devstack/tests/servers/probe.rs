//! Checks servers and processes from outside, without the code under test.

use std::fs;
use std::future::Future;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use devstack::{NatsServer, PostgresServer};
use tempfile::TempDir;

/// Maximum duration of every wait.
const LIMIT: Duration = Duration::from_mins(1);

/// Polls until the condition holds.
#[track_caller]
pub(crate) fn await_that(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !condition() {
        assert!(Instant::now() < deadline, "{what}: not after {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Fails if the future takes too long.
pub(crate) async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LIMIT, future).await.expect("in time")
}

/// A folder that the user of Postgres can enter.
pub(crate) fn folder() -> TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir_in("/tmp").expect("folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("mode");
    folder
}

pub(crate) fn runs(pid: u32) -> bool {
    let exists = shell(&format!("kill -0 {pid} 2>/dev/null"));
    let collected = fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| stat.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" Z")));
    exists && !collected
}

pub(crate) fn kill_hard(pid: u32) {
    assert!(shell(&format!("kill -9 {pid}")));
}

fn shell(script: &str) -> bool {
    Command::new("/bin/sh").args(["-c", script]).status().expect("sh").success()
}

/// The output of `psql` for a query.
pub(crate) fn query(server: &PostgresServer, url: &str, sql: &str) -> String {
    let output = Command::new(server.tool("psql")).args(["-X", "-A", "-t", "-c", sql, url]).output().expect("psql");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

/// One request to NATS; returns the body of the reply.
pub(crate) fn ask(server: &NatsServer, subject: &str, body: &str) -> String {
    let address = server.url().trim_start_matches("nats://").to_owned();
    let mut stream = TcpStream::connect(address).expect("connection");
    stream.set_read_timeout(Some(LIMIT)).expect("bound");
    let hello = "CONNECT {\"verbose\":false}\r\nSUB answer 1\r\n";
    write!(stream, "{hello}PUB {subject} answer {}\r\n{body}\r\n", body.len()).expect("sent");
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("line"));
    lines.find(|line| line.starts_with("MSG ")).expect("an answer");
    lines.next().expect("its body")
}

pub(crate) fn log_of(folder: &Path) -> String {
    fs::read_to_string(folder.join("server.log")).unwrap_or_default()
}
