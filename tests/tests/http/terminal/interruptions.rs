//! Ctrl-C keeps what has arrived, and a lost connection loses nothing.

use rustix::process::{Pid, Signal, kill_process};
use tests::eventually::{eventually, within};
use tests::http_client::HttpClient;
use tests::proxy::{Direction, Network, Proxy};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdout};

use super::{Person, Ran};
use crate::turns::fixture::{TurnFixture, idle, messages};

/// A question whose echo takes several seconds.
fn long_question() -> String {
    let words: Vec<String> = (0..150).map(|word| format!("word{word}")).collect();
    words.join(" ")
}

/// An output of a running command, and what has been read of it.
struct OutputReader<R> {
    reader: BufReader<R>,
    text: String,
}

impl<R: AsyncRead + Unpin> OutputReader<R> {
    fn of(output: Option<R>) -> Self {
        Self { reader: BufReader::new(output.unwrap()), text: String::new() }
    }

    /// Waits until it has this text.
    async fn has(&mut self, text: &str) {
        while !self.text.contains(text) {
            let bytes = within("more output", self.reader.fill_buf()).await.unwrap();
            assert!(!bytes.is_empty(), "it has ended: {}", self.text);
            let count = bytes.len();
            self.text.push_str(&String::from_utf8_lossy(bytes));
            self.reader.consume(count);
        }
    }

    /// All of it, when it has ended.
    async fn whole(mut self) -> String {
        let rest = self.reader.read_to_string(&mut self.text);
        within("the end of the output", rest).await.unwrap();
        self.text
    }
}

/// A running command, and what it has printed.
struct Running {
    child: Child,
    stdout: OutputReader<ChildStdout>,
    stderr: OutputReader<ChildStderr>,
}

impl Running {
    fn start(person: &Person, arguments: &[&str]) -> Self {
        let mut child = person.command(arguments).spawn().unwrap();
        Self { stdout: OutputReader::of(child.stdout.take()), stderr: OutputReader::of(child.stderr.take()), child }
    }

    /// Waits until it has printed this text.
    async fn printed(&mut self, text: &str) {
        self.stdout.has(text).await;
    }

    fn interrupt(&self) {
        let id = i32::try_from(self.child.id().unwrap()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), Signal::INT).unwrap();
    }

    /// Its exit code, whole output, and errors.
    async fn end(mut self) -> (Option<i32>, String, String) {
        let (stdout, stderr) = tokio::join!(self.stdout.whole(), self.stderr.whole());
        let status = within("the end of a chat", self.child.wait()).await;
        (status.unwrap().code(), stdout, stderr)
    }
}

/// A person whose requests pass through a proxy.
struct ProxyFixture {
    fixture: TurnFixture,
    person: Person,
    proxy: Proxy,
}

impl ProxyFixture {
    /// The arguments of a command that continues the conversation `mine`.
    const MINE: [&str; 4] = ["--session", "session", "--conversation", "mine"];

    async fn new() -> Self {
        let fixture = TurnFixture::new().await;
        let mut person = Person::of(&fixture).await;
        let gateway = fixture.stack.gateway.settings.gateway.http.server.addr;
        let proxy = Proxy::start(tests::port::free(), gateway).await;
        person.url = format!("http://{}", proxy.addr());
        Self { fixture, person, proxy }
    }

    async fn ask(&self, question: &str) -> Ran {
        self.person.run(&[&Self::MINE[..], &[question]].concat()).await
    }

    /// A command whose message has started a run, and whose response is withheld.
    async fn start_without_response(&self) -> Running {
        self.ask("hello").await.check("echo: hello\n");
        self.proxy.set(Network::Muted(Direction::ToClient));
        let question = long_question();
        let arguments = [&Self::MINE[..], &[&question]].concat();
        let running = Running::start(&self.person, &arguments);
        let client = self.client();
        eventually("a run", || async {
            let shown = client.get("/api/chats/mine").await.ok(200);
            shown.get("activeRunId").is_some().then_some(())
        })
        .await;
        running
    }

    /// The person, without the proxy.
    fn client(&self) -> HttpClient {
        let session = std::fs::read_to_string(self.person.folder.path().join("session")).unwrap();
        let client = self.fixture.client.with("x-session-id", session.trim());
        client.with("x-api-key", &self.person.key)
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
    let client = fixture.client.with("x-session-id", session.trim()).with("x-api-key", &person.key);
    let recorded = messages(&client, "mine").await;
    assert_eq!(recorded[1].1.trim_end(), text.trim_end());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_connection_loses_nothing() {
    let fixture = ProxyFixture::new().await;
    let question = long_question();
    let mut running = Running::start(&fixture.person, &[&question]);
    for word in ["word1 ", "word9 ", "word20 "] {
        running.printed(word).await;
        fixture.proxy.cut();
    }
    let (code, text, stderr) = running.end().await;
    assert_eq!((code, text), (Some(0), format!("echo: {question}\n")));
    assert_eq!(stderr.matches("reconnecting").count(), 3, "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_does_not_return_is_an_error() {
    let fixture = ProxyFixture::new().await;
    let mut running = Running::start(&fixture.person, &[&long_question()]);
    running.printed("word1 ").await;
    drop(fixture.proxy);
    let (code, _, stderr) = running.end().await;
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("cannot be reached"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_before_the_response_stops_the_answer() {
    let fixture = ProxyFixture::new().await;
    let mut running = fixture.start_without_response().await;
    running.interrupt();
    running.stderr.has("when it begins").await;
    fixture.proxy.set(Network::Normal);
    let (code, text, stderr) = running.end().await;
    assert_eq!(code, Some(130), "{stderr}");
    assert!(stderr.contains("the answer so far is kept"), "{stderr}");
    assert!(!text.contains("word149"), "{text}");
    // The run has ended: the next message is accepted.
    fixture.ask("again").await.check("echo: again\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_interrupt_does_not_wait_for_the_response() {
    let fixture = ProxyFixture::new().await;
    let mut running = fixture.start_without_response().await;
    running.interrupt();
    running.stderr.has("when it begins").await;
    running.interrupt();
    let (code, text, stderr) = running.end().await;
    assert_eq!((code, &*text), (Some(130), ""), "{stderr}");
    assert!(stderr.contains("the answer may continue"), "{stderr}");
    // The answer continues.
    let client = fixture.client();
    idle(&client, "mine").await;
    let recorded = messages(&client, "mine").await;
    assert!(recorded[3].1.contains("word149"), "{recorded:?}");
}
