//! Arguments and output that all commands of the registry service share.

use std::io::Write as _;

use prost::Message;
use runtime::config::Secret;

use super::address::WRITER_PORT;
use crate::client::{RegistryClient, Service};
use crate::console::{self, AsJson};
use crate::exit::{Exit, UsageError};
use crate::ids::secret;
use crate::table;
use wire::json;

/// Address, token and output format. The options are valid before and after the subcommand.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Call {
    /// URL of the writer's gRPC listener; the writer serves the registry.
    #[arg(
        long = "writer", global = true, value_name = "URL", env = "HANSARD_WRITER_URL", hide_env_values = true,
        default_value_t = format!("http://127.0.0.1:{WRITER_PORT}")
    )]
    writer_url: String,
    /// Service token. Prefer the environment variable: process lists show command-line arguments.
    #[arg(long, global = true, env = "HANSARD_TOKEN", hide_env_values = true, value_parser = secret())]
    token: Option<Secret>,
    /// Print protobuf JSON, one object per line.
    #[arg(long, global = true)]
    pub(super) json: bool,
}

impl Call {
    /// A client of the registry service.
    pub(crate) fn registry(&self) -> anyhow::Result<RegistryClient> {
        let missing = || UsageError("a service token is required: give --token or set HANSARD_TOKEN".to_owned());
        let token = self.token.as_ref().ok_or_else(missing)?.expose();
        Ok(Service::at(&self.writer_url, token)?.registry())
    }

    /// Prints messages as JSON Lines or as a table.
    pub(super) fn print<M: Message, const N: usize>(
        &self,
        name: &str,
        messages: Vec<M>,
        header: [&str; N],
        row: fn(M) -> [String; N],
    ) -> anyhow::Result<Exit> {
        if self.json {
            return print_json(name, &messages);
        }
        let rows: Vec<[String; N]> = messages.into_iter().map(row).collect();
        table::write(&mut console::out(), header, &rows)?;
        Ok(Exit::Done)
    }

    /// Prints a created object with its secret, which is not stored.
    pub(super) fn print_secret(&self, name: &str, id: &str, secret: &str) -> anyhow::Result<Exit> {
        print_secret(AsJson(self.json), name, id, secret)
    }
}

/// Prints each message as a line of JSON.
pub(super) fn print_json(name: &str, messages: &[impl Message]) -> anyhow::Result<Exit> {
    for message in messages {
        writeln!(console::out(), "{}", json::of(name, message)?)?;
    }
    Ok(Exit::Done)
}

/// Prints a created object with its secret, which is not stored.
pub(super) fn print_secret(as_json: AsJson, name: &str, id: &str, secret: &str) -> anyhow::Result<Exit> {
    if as_json.0 {
        let created = serde_json::json!({ name: id, "secret": secret });
        writeln!(console::out(), "{created}")?;
    } else {
        writeln!(console::out(), "{secret}")?;
        let note = format!("created {id}; its secret is not shown again");
        writeln!(console::err(), "{note}")?;
    }
    Ok(Exit::Done)
}
