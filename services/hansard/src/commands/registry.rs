//! What the registry's commands share: a list as a table for people or as JSON Lines for machines.

use std::io::Write as _;

use prost::Message;

use super::address::WRITER_PORT;
use crate::client::{Registrar, Service};
use crate::console;
use crate::exit::UsageError;
use crate::view::json;

/// Where the registry is, and how to print what it answers. Taken before and after the action.
#[derive(Clone, clap::Args)]
pub struct Call {
    /// The writer's address: it keeps the registry.
    #[arg(
        long = "writer", global = true, value_name = "URL", env = "HANSARD_WRITER_URL", hide_env_values = true,
        default_value_t = format!("http://127.0.0.1:{WRITER_PORT}")
    )]
    writer_url: String,
    /// The service token; better given by the environment, which the list of processes does not show.
    #[arg(long, global = true, env = "HANSARD_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Print JSON, one object a line, as gRPC's command-line clients do.
    #[arg(long, global = true)]
    pub json: bool,
}

// The token must not be printed.
impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call").finish_non_exhaustive()
    }
}

impl Call {
    /// The registry.
    ///
    /// # Errors
    /// There is no token, or the address is wrong.
    pub fn registrar(&self) -> anyhow::Result<Registrar> {
        let missing = || UsageError("give --token, or set HANSARD_TOKEN".to_owned());
        let token = self.token.as_deref().ok_or_else(missing)?;
        Ok(Service::at(&self.writer_url, token)?.registrar())
    }
}

/// Prints each message as a line of JSON.
pub(super) fn print_json(name: &str, messages: &[impl Message]) -> anyhow::Result<()> {
    for message in messages {
        writeln!(console::out(), "{}", json::of(name, message)?)?;
    }
    Ok(())
}

/// Whether a machine reads the output.
#[derive(Debug, Clone, Copy)]
pub(super) struct AsJson(pub(super) bool);

/// Prints what was made with its secret, which nothing can show again.
pub(super) fn print_secret(
    as_json: AsJson,
    name: &str,
    id: &str,
    secret: &str,
) -> anyhow::Result<()> {
    if as_json.0 {
        let made = serde_json::json!({ name: id, "secret": secret });
        writeln!(console::out(), "{made}")?;
    } else {
        writeln!(console::out(), "{secret}")?;
        writeln!(
            console::err(),
            "made {id}; this is the only time that its secret is shown"
        )?;
    }
    Ok(())
}
