//! `hansard dev`: from an empty folder to the context of a real conversation; a second start is fast, also after a
//! crash.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tests::agent::Agent;
use tests::chitchat;
use tests::client::Caller;
use tests::eventually::{eventually, within};
use tests::process::Process;
use tests::program;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::list_conversations_request::Filter;

/// The number of imported conversations.
const CONVERSATIONS: usize = 20;
/// `dev` uses ports from a base port up to 30 above it.
const PORTS: u16 = 31;
/// The offset of the port of Postgres.
const POSTGRES: u16 = 30;
/// The limit of a second start, in a debug build on a busy machine; release builds take 5 s.
const AGAIN_WITHIN: Duration = Duration::from_mins(1);

fn arguments(folder: &Path, base: u16) -> Vec<String> {
    let text = |text: &str| text.to_owned();
    vec![
        text("dev"),
        text("--import"),
        CONVERSATIONS.to_string(),
        text("--data-dir"),
        folder.display().to_string(),
        text("--port-base"),
        base.to_string(),
    ]
}

/// The word after `name` on the line with this prefix; `None` if there is none yet.
fn word_after<'a>(log: &'a str, name: &str) -> Option<&'a str> {
    let line = log.lines().find_map(|line| line.trim_start().strip_prefix(name))?;
    line.split_whitespace().next()
}

fn variable<'a>(log: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = log.split_once(&format!("{name}="))?;
    rest.split_whitespace().next()
}

/// The output for the conversation, without the line about the source of its events.
fn comparable_lines(stdout: &str) -> Vec<&str> {
    stdout.lines().filter(|line| !line.contains("events from rows")).collect()
}

/// Starts it permanently, and waits until it prints that it is ready.
async fn start(data: &Path, base: u16) -> (Process, String) {
    let words = arguments(data, base);
    let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
    let process = Process::start(&program!(), &arguments, &[]);
    let log = eventually("the addresses", || {
        let log = process.log();
        std::future::ready(log.contains("Ctrl-C stops everything").then_some(log))
    })
    .await;
    (process, log)
}

fn demo(log: &str) -> Agent {
    let (writer, gateway) = (word_after(log, "writer"), word_after(log, "gateway"));
    let token = variable(log, "HANSARD_TOKEN").expect("a token");
    let caller = Caller::new(writer.expect("a writer"), gateway.expect("a gateway"), token);
    Agent::new(caller, "demo")
}

#[tokio::test(flavor = "multi_thread")]
async fn starts_once_again_permanently_and_after_a_crash() {
    let home = tests::folder::enterable();
    let data = home.path().join("data");
    let base = tests::port::block(PORTS);
    let mut once = arguments(&data, base);
    once.push("--once".to_owned());
    let first = program!().run(&once, &[]).await;
    assert_eq!(first.code, Some(0), "{first:?}");
    assert!(first.stdout.contains("The context of the conversation"), "{first:?}");
    let started = Instant::now();
    let again = program!().run(&once, &[]).await;
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(started.elapsed() < AGAIN_WITHIN, "{:?}", started.elapsed());
    assert_eq!(comparable_lines(&again.stdout), comparable_lines(&first.stdout));

    let (mut process, log) = start(&data, base).await;
    check_transcripts(&demo(&log)).await;
    check_strangers(&log, &data, base).await;
    process.kill();
    let (mut process, log) = start(&data, base).await;
    check_transcripts(&demo(&log)).await;
    process.signal(Signal::INT);
    assert_eq!(process.wait().await.code(), Some(0));
    let nats = word_after(&log, "NATS").and_then(|url| url.strip_prefix("nats://"));
    let left = TcpStream::connect(nats.expect("an address")).await;
    assert!(left.is_err(), "NATS is left behind");
}

/// Another user of the machine reaches neither server, and reads no password.
async fn check_strangers(log: &str, data: &Path, base: u16) {
    let nats = word_after(log, "NATS").and_then(|url| url.strip_prefix("nats://")).expect("an address");
    let mut stream = TcpStream::connect(nats).await.expect("a connection");
    stream.write_all(b"CONNECT {\"verbose\":true}\r\nPING\r\n").await.expect("a request");
    let mut answer = String::new();
    within("the end of the connection", stream.read_to_string(&mut answer)).await.expect("an answer");
    assert!(answer.contains("-ERR 'Authorization Violation'"), "{answer}");
    assert!(!answer.contains("PONG"), "{answer}");
    let postgres = TcpStream::connect(("127.0.0.1", base + POSTGRES)).await;
    assert!(postgres.is_err(), "Postgres listens on TCP");
    for file in ["nats.password", "nats/nats.conf"] {
        let mode = fs::metadata(data.join(file)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    let password = fs::read_to_string(data.join("nats.password")).expect("a password");
    assert!(!log.contains(password.trim()), "the password is printed");
}

/// Two imports created each conversation once, equal to the data set.
async fn check_transcripts(demo: &Agent) {
    let request = demo.conversations_request(Filter::WholeAgent(proto::WholeAgent {}));
    let listed = eventually("the imported conversations", || async {
        let listed = demo.conversations(request.clone()).await;
        (listed.len() == CONVERSATIONS).then_some(listed)
    })
    .await;
    let sources: Vec<_> = chitchat::transcripts().await.into_values().collect();
    for conversation in listed {
        let events = demo.events(demo.list_request(&conversation.conversation_id)).await;
        assert!(sources.contains(&chitchat::transcript_of(&events)));
    }
}
