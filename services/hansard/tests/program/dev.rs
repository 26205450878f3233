//! Starts `hansard dev`, and runs other commands of the program.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_hansard");
/// The last line that `hansard dev` prints after the start.
const LAST_LINE: &str = "Ctrl-C stops everything.";

/// Runs the program without settings of the environment.
pub(crate) fn run(environment: &[(String, String)], arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    for name in ["HANSARD_TOKEN", "HANSARD_AGENT", "HANSARD_WRITER_URL", "HANSARD_GATEWAY_URL"] {
        command.env_remove(name);
    }
    let environment = environment.iter().map(|(name, value)| (name, value));
    command.args(arguments).envs(environment).stdin(Stdio::null()).output().expect("the program")
}

#[track_caller]
pub(crate) fn check(output: &Output, code: i32, stderr: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(stderr), "{said}");
}

/// A process that is stopped when its test ends.
struct Running(Child);

impl Running {
    fn end(&mut self) -> ExitStatus {
        let id = i32::try_from(self.0.id()).expect("a process id");
        let pid = Pid::from_raw(id).expect("a process id");
        kill_process(pid, Signal::INT).expect("a signal");
        self.0.wait().expect("its end")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            self.end();
        }
    }
}

/// A running `hansard dev`.
pub(crate) struct Dev {
    // Stopped before its folder is deleted.
    process: Running,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) shown: String,
    nats_url: String,
    pub(crate) folder: TempDir,
}

impl Dev {
    pub(crate) fn start(folder: TempDir, import: &str) -> Self {
        let data_dir = folder.path().to_str().expect("a path").to_owned();
        let mut process = Command::new(PROGRAM)
            .args(["dev", "--import", import, "--data-dir", &data_dir, "--port-base", "27300"])
            // A model server that is configured as for a gateway.
            .env("HANSARD_MODELS__LOCAL__KIND", "echo")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program");
        let mut lines = BufReader::new(process.stdout.take().expect("stdout"));
        let process = Running(process);
        let mut shown = String::new();
        while !shown.ends_with(&format!("{LAST_LINE}\n")) {
            let read = lines.read_line(&mut shown).expect("a line");
            assert!(read > 0, "it ended early: {shown}");
        }
        let words = shown.split_whitespace().filter(|word| word.starts_with("HANSARD_"));
        let mut environment: Vec<(String, String)> = words
            .filter_map(|word| word.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        // A shell reads the password from its file.
        let password = fs::read_to_string(folder.path().join("nats.password")).expect("a password");
        let address =
            shown.split_whitespace().find_map(|word| word.strip_prefix("nats://")).expect("the address of NATS");
        let nats_url = format!("nats://hansard:{}@{address}", password.trim());
        environment.retain(|(name, _)| name != "HANSARD_RECORD__NATS_URL");
        environment.push(("HANSARD_RECORD__NATS_URL".to_owned(), nats_url.clone()));
        Self { process, environment, shown, nats_url, folder }
    }

    pub(crate) fn nats_url(&self) -> &str {
        &self.nats_url
    }

    pub(crate) fn database_url(&self) -> &str {
        let mut words = self.shown.split_whitespace();
        words.find(|word| word.starts_with("postgres://")).expect("the address of Postgres")
    }

    /// The URL of the gateway's HTTP listener.
    pub(crate) fn http_url(&self) -> &str {
        let mut lines = self.shown.lines();
        let line = lines.find(|line| line.contains("(HTTP"));
        line.and_then(|line| line.split_whitespace().next()).expect("its address")
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        run(&self.environment, arguments)
    }

    pub(crate) fn stop(mut self) -> TempDir {
        assert!(self.process.end().success());
        let (_, nats) = self.nats_url.split_once('@').expect("a user");
        assert!(TcpStream::connect(nats).is_err(), "nats-server is left behind");
        self.folder
    }
}

pub(crate) fn folder() -> TempDir {
    let folder = tempfile::Builder::new().prefix("hansard-").tempdir_in("/tmp").expect("a folder");
    // Postgres runs as another user if the test runs as root.
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("mode");
    folder
}

pub(crate) fn lines_of(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}
