//! Where an operator of a stack sits: commands with its addresses, and NATS by hand.

use serde_json::Value;
use tempfile::TempDir;
use tests::eventually::within;
use tests::process::Process;
use tests::program;
use tests::stack::Stack;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// An operator of a stack.
pub(crate) struct Desk {
    variables: Vec<(String, String)>,
    nats: String,
    /// For files, which commands name by `@`.
    pub(crate) folder: TempDir,
}

impl Desk {
    pub(crate) fn at(stack: &Stack) -> Self {
        let servers = &stack.servers;
        let variables = [
            ("HANSARD_RECORD__NATS_URL", servers.nats().url()),
            ("HANSARD_RECORD__MONITOR_URL", servers.nats().monitor_url()),
            (
                "HANSARD_READ_MODEL__DATABASE_URL",
                servers.database_url().to_owned(),
            ),
        ];
        Self {
            variables: variables
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
            nats: servers.nats().url().replace("nats://", ""),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn words(&self, line: &str) -> Vec<String> {
        let folder = format!("{}/", self.folder.path().display());
        let words = line.split_whitespace();
        words.map(|word| word.replace('@', &folder)).collect()
    }

    /// Runs a command, which must end with this code and say this on standard error; answers what it prints.
    pub(crate) async fn check(&self, line: &str, code: i32, stderr: &str) -> String {
        let ended = program!().run(self.words(line), &self.variables).await;
        assert_eq!(ended.code, Some(code), "{line}: {ended:?}");
        assert!(ended.stderr.contains(stderr), "{line}: {ended:?}");
        ended.stdout
    }

    /// The lines of JSON that a command prints.
    pub(crate) async fn json(&self, line: &str, code: i32) -> Vec<Value> {
        lines_of(&self.check(line, code, "").await)
    }

    /// Starts a command, and goes on.
    pub(crate) fn start(&self, line: &str) -> Process {
        let words = self.words(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        Process::start(&program!(), &words, &self.variables)
    }

    pub(crate) fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(file)).unwrap_or_default()
    }

    /// Publishes by hand, past every writer; the server has it when this returns.
    pub(crate) async fn publish(&self, subject: &str, payload: &str) {
        let size = payload.len();
        let lines = format!("PUB {subject} {size}\r\n{payload}\r\nPING\r\n");
        within("a publish", self.say(&lines, "PONG")).await;
    }

    /// Asks the server by hand; it has answered when this returns.
    pub(crate) async fn request(&self, subject: &str, payload: &str) {
        let size = payload.len();
        let lines =
            format!("SUB _INBOX.desk 1\r\nPUB {subject} _INBOX.desk {size}\r\n{payload}\r\n");
        within("a request", self.say(&lines, "MSG ")).await;
    }

    /// Says lines of the protocol of NATS, and reads to a line that begins so.
    async fn say(&self, lines: &str, answer: &str) {
        let stream = TcpStream::connect(&self.nats).await.unwrap();
        let mut stream = BufReader::new(stream);
        let lines = format!("CONNECT {{\"verbose\":false}}\r\n{lines}");
        stream.write_all(lines.as_bytes()).await.unwrap();
        let mut line = String::new();
        while !line.starts_with(answer) {
            line.clear();
            assert!(stream.read_line(&mut line).await.unwrap() > 0);
            assert!(!line.starts_with("-ERR"), "{line}");
        }
    }
}

/// Each line as JSON.
pub(crate) fn lines_of(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}
