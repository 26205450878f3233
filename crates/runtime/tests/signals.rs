//! Signals and JSON logs, in a child process: this binary, started with an environment variable.

#![cfg(test)]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use runtime::shutdown::{EXIT_CODE_FORCED, Shutdown};
use runtime::telemetry::{self, LogFormat, TelemetryConfig};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const ROLE: &str = "SIGNALS_TEST_CHILD";
const ENDING: &str = "ends on a signal";
const HANGING: &str = "never ends";

/// Does nothing unless this process is the child.
#[tokio::test]
async fn child() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let config = TelemetryConfig { log_format: LogFormat::Json, ..TelemetryConfig::default() };
    let guard = telemetry::init(&config).unwrap();
    let shutdown = Shutdown::new();
    shutdown.listen_for_signals().unwrap();
    if role == HANGING {
        shutdown.spawn(std::future::pending::<()>());
    }
    tracing::info!(task.role = role, "ready");
    shutdown.begun().await;
    shutdown.wait(Duration::from_mins(1)).await.unwrap();
    guard.shutdown().await;
}

struct Running {
    process: Child,
    log: BufReader<ChildStderr>,
}

impl Running {
    fn start(role: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture"])
            .env(ROLE, role)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(process.stderr.take().unwrap());
        Self { process, log }
    }

    fn await_message(&mut self, message: &str) -> Value {
        for line in self.log.by_ref().lines() {
            let entry: Value = serde_json::from_str(&line.unwrap()).unwrap();
            if entry["message"] == message {
                return entry;
            }
        }
        panic!("the child ended without {message:?}");
    }

    fn send(&self, signal: Signal) {
        let pid = Pid::from_child(&self.process);
        kill_process(pid, signal).unwrap();
    }

    fn exit_code(&mut self) -> Option<i32> {
        self.process.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It fails if the child has ended already.
        let _ = self.process.kill();
    }
}

#[test]
fn the_first_signal_shuts_down() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut child = Running::start(ENDING);
        let ready = child.await_message("ready");
        assert_eq!((&ready["level"], &ready["task.role"]), (&"INFO".into(), &ENDING.into()));
        child.send(signal);
        child.await_message("shutting down; a second signal ends at once");
        assert_eq!(child.exit_code(), Some(0), "{signal:?}");
    }
}

#[test]
fn the_second_signal_ends_at_once() {
    let mut child = Running::start(HANGING);
    child.await_message("ready");
    child.send(Signal::TERM);
    child.await_message("shutting down; a second signal ends at once");
    child.send(Signal::INT);
    assert_eq!(child.exit_code(), Some(EXIT_CODE_FORCED));
}
