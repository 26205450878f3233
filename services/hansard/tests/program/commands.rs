//! The program from outside, as people and scripts use it: a stack of its own, commands against it, and their ends.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_hansard");
/// The last line that `hansard dev` prints once everything runs.
const LAST_LINE: &str = "Ctrl-C stops everything.";

/// Runs the program, without any setting of the environment.
fn run(environment: &[(String, String)], arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    for name in [
        "HANSARD_TOKEN",
        "HANSARD_AGENT",
        "HANSARD_WRITER_URL",
        "HANSARD_GATEWAY_URL",
    ] {
        command.env_remove(name);
    }
    let environment = environment.iter().map(|(name, value)| (name, value));
    command
        .args(arguments)
        .envs(environment)
        .stdin(Stdio::null())
        .output()
        .expect("the program")
}

#[track_caller]
fn check(output: &Output, code: i32, stderr: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(stderr), "{said}");
}

#[test]
fn exit_codes_tell_what_went_wrong() {
    let check = |line: &str, code, stderr| {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        check(&run(&[], &arguments), code, stderr);
    };
    check("--version", 0, "");
    check("import --help", 0, "");
    check("", 2, "Usage");
    check("nothing", 2, "unrecognized subcommand");
    check(
        "tenant list",
        2,
        "hansard: give --token, or set HANSARD_TOKEN",
    );
    check(
        "tenant list --token t --writer ftp://x",
        2,
        "is no address of a service",
    );
    check(
        "import /no/such/file --agent a --token t",
        1,
        "hansard: cannot read /no/such/file",
    );
    check(
        "import - --agent a --token t",
        2,
        "hansard: standard input has no name",
    );
    check("bench", 2, "hansard: give --token of the stack that runs");
    check("writer --check", 0, "");
    check("projector --check", 0, "");
    check(
        "gateway --check --set grpc.adr=x",
        2,
        "`grpc.adr` (flag) is no setting",
    );
    check(
        "writer --check --config /no/such/file",
        2,
        "file /no/such/file",
    );
    check(
        "bootstrap --name admin --nats-url nats://127.0.0.1:1",
        1,
        "hansard: ",
    );
}

/// A `hansard dev` that runs.
struct Dev {
    process: Child,
    environment: Vec<(String, String)>,
    shown: String,
    folder: TempDir,
}

impl Dev {
    fn start(folder: TempDir, import: &str) -> Self {
        let data_dir = folder.path().to_str().expect("a path").to_owned();
        let mut process = Command::new(PROGRAM)
            .args([
                "dev",
                "--import",
                import,
                "--data-dir",
                &data_dir,
                "--port-base",
                "27300",
            ])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program");
        let mut shown = String::new();
        let mut lines = BufReader::new(process.stdout.take().expect("stdout"));
        while !shown.ends_with(&format!("{LAST_LINE}\n")) {
            let read = lines.read_line(&mut shown).expect("a line");
            assert!(read > 0, "it ended early: {shown}");
        }
        let words = shown
            .split_whitespace()
            .filter(|word| word.starts_with("HANSARD_"));
        let environment = words
            .filter_map(|word| word.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        Self {
            process,
            environment,
            shown,
            folder,
        }
    }

    fn nats_url(&self) -> &str {
        let mut words = self.shown.split_whitespace();
        words
            .find(|word| word.starts_with("nats://"))
            .expect("the address of NATS")
    }

    fn run(&self, arguments: &[&str]) -> Output {
        run(&self.environment, arguments)
    }

    fn stop(mut self) -> TempDir {
        let id = i32::try_from(self.process.id()).expect("a process id");
        let pid = Pid::from_raw(id).expect("a process id");
        kill_process(pid, Signal::INT).expect("a signal");
        assert!(self.process.wait().expect("its end").success());
        let nats = self.nats_url().trim_start_matches("nats://").to_owned();
        assert!(
            TcpStream::connect(nats).is_err(),
            "nats-server is left behind"
        );
        self.folder
    }
}

fn folder() -> TempDir {
    let folder = tempfile::Builder::new()
        .prefix("hansard-")
        .tempdir_in("/tmp")
        .expect("a folder");
    // Open to the user that Postgres runs as when this runs as root.
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("mode");
    folder
}

fn lines_of(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn a_stack_serves_every_command_and_remembers_itself() {
    let dev = Dev::start(folder(), "5");
    assert!(
        dev.shown
            .contains("What a model would read of the conversation"),
        "{}",
        dev.shown
    );
    imports_change_nothing_the_second_time(&dev);
    the_registry_is_kept(&dev);
    the_record_can_be_read(&dev);
    let environment = dev.environment.clone();
    let again = Dev::start(dev.stop(), "5");
    assert_eq!(
        again.environment, environment,
        "tokens and addresses stay the same"
    );
    again.stop();
}

fn imports_change_nothing_the_second_time(dev: &Dev) {
    let file = dev.folder.path().join("chats.jsonl");
    let good = include_str!("../../src/import/fixtures/openai.jsonl");
    fs::write(&file, format!("{good}{{}}\n{good}")).expect("a file");
    let file = file.to_str().expect("a path");
    let summary = |output: &Output| {
        let mut summary = lines_of(output).remove(0);
        summary
            .as_object_mut()
            .expect("an object")
            .remove("seconds");
        summary
    };
    // Two lines have an id, which the second half repeats.
    let first = dev.run(&["import", file, "--json"]);
    check(&first, 3, "line 6: messages: is required");
    let whole = json!({
        "conversations": 10, "already_there": 2, "messages": 36, "commits": 16, "refused": 1, "remarks": 4,
    });
    assert_eq!(summary(&first), whole);
    let again = summary(&dev.run(&["import", file, "--json"]));
    assert_eq!(
        (&again["commits"], &again["already_there"]),
        (&json!(0), &json!(10))
    );
    let chitchat = dev.run(&["import", "chitchat", "--limit", "5", "--json"]);
    check(&chitchat, 0, "5 there before");
}

fn the_registry_is_kept(dev: &Dev) {
    check(
        &dev.run(&["tenant", "create", "acme", "--name", "Acme"]),
        0,
        "",
    );
    check(&dev.run(&["tenant", "create", "acme"]), 1, "hansard: ");
    check(
        &dev.run(&["agent", "create", "support", "--tenant", "acme"]),
        0,
        "",
    );
    let made = dev.run(&["key", "create", "--agent", "support", "--json"]);
    let id = lines_of(&made)[0]["apiKeyId"]
        .as_str()
        .expect("an id")
        .to_owned();
    check(&dev.run(&["key", "revoke", &id]), 0, "");
    let keys = lines_of(&dev.run(&["key", "list", "--agent", "support", "--json"]));
    assert_eq!(keys.len(), 1);
    assert!(keys[0]["revokedAt"].is_string(), "{keys:?}");
    let made = dev.run(&["token", "create", "--name", "reader", "--scope", "read"]);
    let token = String::from_utf8(made.stdout)
        .expect("text")
        .trim()
        .to_owned();
    check(
        &dev.run(&["tenant", "list", "--token", &token]),
        1,
        "MISSING_SCOPE",
    );
    let bootstrap = dev.run(&["bootstrap", "--name", "admin", "--nats-url", dev.nats_url()]);
    check(
        &bootstrap,
        1,
        "has a service token with the scope operate already",
    );
}

fn the_record_can_be_read(dev: &Dev) {
    let commits = lines_of(&dev.run(&["tail", "--nats-url", dev.nats_url()]));
    let of_dev = commits
        .iter()
        .filter(|commit| commit["envelope"]["actor"] == "dev")
        .count();
    assert_eq!(of_dev, commits.len());
    let conversation = commits[0]["envelope"]["conversationId"]
        .as_str()
        .expect("an id");
    let tail = [
        "tail",
        "--nats-url",
        dev.nats_url(),
        "--tenant",
        "demo",
        "--conversation",
    ];
    let own = lines_of(&dev.run(&[&tail[..], &[conversation]].concat()));
    assert_eq!(own[0], commits[0]);
    let context = lines_of(&dev.run(&["context", conversation, "--messages", "1", "--json"]));
    assert_eq!(
        context[0]["messages"].as_array().map(Vec::len),
        Some(1),
        "{context:?}"
    );
    check(
        &dev.run(&["context", "nobody"]),
        1,
        "CONVERSATION_NOT_FOUND",
    );
    a_reader_may_leave_early(dev);
}

fn a_reader_may_leave_early(dev: &Dev) {
    let mut tail = Command::new(PROGRAM)
        .args(["tail", "--nats-url", dev.nats_url()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut first = [0];
    tail.stdout
        .take()
        .expect("stdout")
        .read_exact(&mut first)
        .expect("a byte");
    let output = tail.wait_with_output().expect("its end");
    check(&output, 0, "");
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
