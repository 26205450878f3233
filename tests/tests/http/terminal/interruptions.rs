//! Ctrl-C keeps what has arrived, and a lost connection loses nothing.

use rustix::process::{Pid, Signal, kill_process};
use tests::eventually::within;
use tests::proxy::Proxy;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout};

use super::Person;
use crate::turns::fixture::{TurnFixture, messages};

/// A question whose echo takes several seconds.
fn long_question() -> String {
    let words: Vec<String> = (0..150).map(|word| format!("word{word}")).collect();
    words.join(" ")
}

/// A running command, and what it has printed.
struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
    text: String,
}

impl Running {
    fn start(person: &Person, arguments: &[&str]) -> Self {
        let mut child = person.command(arguments).spawn().unwrap();
        Self {
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
            text: String::new(),
        }
    }

    /// Waits until it has printed this text.
    async fn printed(&mut self, text: &str) {
        while !self.text.contains(text) {
            let bytes = within("more output", self.stdout.fill_buf()).await.unwrap();
            assert!(!bytes.is_empty(), "it has ended: {}", self.text);
            let count = bytes.len();
            self.text.push_str(&String::from_utf8_lossy(bytes));
            self.stdout.consume(count);
        }
    }

    fn interrupt(&self) {
        let id = i32::try_from(self.child.id().unwrap()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), Signal::INT).unwrap();
    }

    /// Its exit code, whole output, and errors.
    async fn end(mut self) -> (Option<i32>, String, String) {
        let rest = self.stdout.read_to_string(&mut self.text);
        within("the end of the output", rest).await.unwrap();
        let output = within("the end of a chat", self.child.wait_with_output()).await;
        let output = output.unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), self.text, stderr)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_stops_the_answer_and_keeps_it() {
    let fixture = TurnFixture::new().await;
    let person = Person::of(&fixture).await;
    let session = person.folder.path().join("session");
    let arguments = ["--session", "session", "--conversation", "mine"];
    let mut running = Running::start(&person, &[&arguments[..], &[&long_question()]].concat());
    running.printed("word1 ").await;
    running.interrupt();
    let (code, text, stderr) = running.end().await;
    assert_eq!(code, Some(130), "{stderr}");
    assert!(stderr.contains("the answer so far is kept"), "{stderr}");
    assert!(!text.contains("word149"), "{text}");
    // The record has the same text.
    let session = std::fs::read_to_string(session).unwrap();
    let client = fixture.client.with("x-session-id", session.trim());
    let client = client.with("x-api-key", &person.key);
    let recorded = messages(&client, "mine").await;
    assert_eq!(recorded[1].1.trim_end(), text.trim_end());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_connection_loses_nothing() {
    let fixture = TurnFixture::new().await;
    let mut person = Person::of(&fixture).await;
    let gateway = fixture.stack.gateway.settings.gateway.http.server.addr;
    let proxy = Proxy::start(tests::port::free(), gateway).await;
    person.url = format!("http://{}", proxy.addr());
    let question = long_question();
    let mut running = Running::start(&person, &[&question]);
    for word in ["word1 ", "word9 ", "word20 "] {
        running.printed(word).await;
        proxy.cut();
    }
    let (code, text, stderr) = running.end().await;
    assert_eq!((code, text), (Some(0), format!("echo: {question}\n")));
    assert_eq!(stderr.matches("reconnecting").count(), 3, "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_does_not_return_is_an_error() {
    let fixture = TurnFixture::new().await;
    let mut person = Person::of(&fixture).await;
    let gateway = fixture.stack.gateway.settings.gateway.http.server.addr;
    let proxy = Proxy::start(tests::port::free(), gateway).await;
    person.url = format!("http://{}", proxy.addr());
    let mut running = Running::start(&person, &[&long_question()]);
    running.printed("word1 ").await;
    drop(proxy);
    let (code, _, stderr) = running.end().await;
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("cannot be reached"), "{stderr}");
}
