//! `hansard chat`, as a real process against a gateway.

mod attacks;
mod commands;
mod interactive;
mod interruptions;
mod one_shot;

use std::process::{Output, Stdio};

use tempfile::TempDir;
use tests::eventually::{eventually, within};
use tests::program;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::turns::fixture::TurnFixture;

/// A person with a folder of their own, and an API key of the agent.
struct Person {
    url: String,
    key: String,
    folder: TempDir,
}

impl Person {
    async fn of(fixture: &TurnFixture) -> Self {
        let key = fixture.operator.api_key(fixture.agent_id).await.secret;
        let client = fixture.client.with("x-api-key", &key);
        eventually("a gateway that knows the key", || async {
            (client.get("/api/chats/none").await.status == 404).then_some(())
        })
        .await;
        Self { url: client.url(""), key, folder: tempfile::tempdir().unwrap() }
    }

    /// The command with these arguments, without inherited variables.
    fn command(&self, arguments: &[&str]) -> Command {
        let program = program!();
        let mut command = Command::new(program.path());
        command.args(["chat", "--url", &self.url]).args(arguments);
        command.arg("--data-dir").arg(self.folder.path());
        command.current_dir(self.folder.path());
        command.env_clear().env("HANSARD_API_KEY", &self.key);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    async fn run(&self, arguments: &[&str]) -> Ran {
        let output = self.command(arguments).output();
        Ran::of(within("the end of a chat", output).await.unwrap())
    }

    /// Runs the command with this standard input.
    async fn pipe(&self, arguments: &[&str], input: &str) -> Ran {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let writing = async move {
            // A program that has ended reads nothing.
            let _ = stdin.write_all(input.as_bytes()).await;
        };
        let both = async { tokio::join!(writing, child.wait_with_output()).1 };
        Ran::of(within("the end of a chat", both).await.unwrap())
    }
}

/// A command that has ended.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Checks that it has succeeded and printed this, and nothing else.
    fn check(&self, stdout: &str) {
        assert_eq!((self.code, &*self.stdout, &*self.stderr), (Some(0), stdout, ""));
    }

    /// Checks that it has failed with this code and reason, and printed this.
    fn check_failed(&self, code: i32, stdout: &str, reason: &str) {
        assert_eq!((self.code, &*self.stdout), (Some(code), stdout), "{self:?}");
        assert!(self.stderr.contains(reason), "{self:?}");
    }
}
