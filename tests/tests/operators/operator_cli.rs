//! An operator of a stack: commands with its addresses, and raw NATS messages.

use serde_json::Value;
use tempfile::TempDir;
use tests::eventually::{eventually, within};
use tests::process::Process;
use tests::program;
use tests::program::CommandOutput;
use tests::stack::Stack;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// An operator's commands for a stack.
pub(crate) struct OperatorCli {
    variables: Vec<(String, String)>,
    nats: String,
    /// For files, which commands name with `@`.
    pub(crate) folder: TempDir,
}

impl OperatorCli {
    pub(crate) fn at(stack: &Stack) -> Self {
        let servers = &stack.servers;
        let variables = [
            ("HANSARD_RECORD__NATS_URL", servers.nats().url()),
            ("HANSARD_RECORD__MONITOR_URL", servers.nats().monitor_url()),
            ("HANSARD_READ_MODEL__DATABASE_URL", servers.database_url().to_owned()),
        ];
        Self {
            variables: variables.map(|(name, value)| (name.to_owned(), value)).into(),
            nats: servers.nats().url().replace("nats://", ""),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// The same operator with another database, and further variables.
    pub(crate) fn with(stack: &Stack, variables: &[(&str, &str)]) -> Self {
        let mut cli = Self::at(stack);
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        // Of two variables with one name, the last applies.
        cli.variables.extend(variables);
        cli
    }

    fn arguments_of(&self, line: &str) -> Vec<String> {
        let folder = format!("{}/", self.folder.path().display());
        let words = line.split_whitespace();
        words.map(|word| word.replace('@', &folder)).collect()
    }

    /// Runs a command, checks its exit code and standard error, and returns its standard output.
    pub(crate) async fn check(&self, line: &str, code: i32, stderr: &str) -> String {
        let ended = program!().run(self.arguments_of(line), &self.variables).await;
        assert_eq!(ended.code, Some(code), "{line}: {ended:?}");
        assert!(ended.stderr.contains(stderr), "{line}: {ended:?}");
        ended.stdout
    }

    /// The lines of JSON of a command.
    pub(crate) async fn json(&self, line: &str, code: i32) -> Vec<Value> {
        lines_of(&self.check(line, code, "").await)
    }

    /// Runs a command again until it ends with this exit code, and returns its output.
    pub(crate) async fn until(&self, line: &str, code: i32) -> CommandOutput {
        eventually(line, || async {
            let arguments = self.arguments_of(line);
            let ended = program!().run(arguments, &self.variables).await;
            (ended.code == Some(code)).then_some(ended)
        })
        .await
    }

    /// Starts a command without waiting.
    pub(crate) fn start(&self, line: &str) -> Process {
        let words = self.arguments_of(line);
        let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        Process::start(&program!(), &arguments, &self.variables)
    }

    pub(crate) fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(file)).unwrap_or_default()
    }

    /// Publishes directly to NATS, without a writer; returns after the server has it.
    pub(crate) async fn publish(&self, subject: &str, payload: &str) {
        let size = payload.len();
        let lines = format!("PUB {subject} {size}\r\n{payload}\r\nPING\r\n");
        within("a publish", self.send_lines(&lines, "PONG")).await;
    }

    /// Sends a request directly to NATS; returns after the answer.
    pub(crate) async fn request(&self, subject: &str, payload: &str) {
        let size = payload.len();
        let lines = format!("SUB _INBOX.operator 1\r\nPUB {subject} _INBOX.operator {size}\r\n{payload}\r\n");
        within("a request", self.send_lines(&lines, "MSG ")).await;
    }

    /// Sends lines of the NATS protocol, and reads up to a line with this prefix.
    async fn send_lines(&self, lines: &str, answer: &str) {
        let mut stream = BufReader::new(TcpStream::connect(&self.nats).await.unwrap());
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
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}
