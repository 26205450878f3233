//! The arguments of `hansard dev`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use devstack::StackError;
use models::ServerKind;
use serde::{Deserialize, Serialize};

use super::ports::PortBase;

/// Start all servers and roles on this machine, with a demo tenant and sample conversations.
///
/// Runs NATS, Postgres, writer, projector and gateway. The first run creates a demo tenant with an agent, an API key and a
/// service token, and imports the first conversations of the chitchat data set; later runs use the same data. NATS and
/// Postgres are found on the PATH, downloaded, or given by URL. Prints one assembled context, all addresses and the next
/// commands, and runs until Ctrl-C.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Model servers come from the environment (HANSARD_MODELS__NAME__KIND, as for a gateway) and from --model-server, which
answers for the demo agent. No other setting is read from the environment.

Examples:
  hansard dev
  hansard dev --once --import none
  hansard dev --import all
  hansard dev --model-server ollama=http://127.0.0.1:11434 --model llama3.2
  hansard dev --nats-url nats://127.0.0.1:4222 --database-url postgres://hansard@127.0.0.1/hansard")]
pub(crate) struct Args {
    /// Exit after the context is printed.
    #[arg(long)]
    pub(crate) once: bool,
    /// Number of conversations of the data set to import: a number, `all` or `none`.
    #[arg(long, value_name = "COUNT", default_value_t = Amount::Some(200))]
    pub(crate) import: Amount,
    /// Folder for all data. As root: a folder that an unprivileged Postgres can enter.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// URL of a running NATS server.
    #[arg(long, value_name = "URL")]
    pub(crate) nats_url: Option<String>,
    /// URL of an existing Postgres database.
    #[arg(long, value_name = "URL")]
    pub(crate) database_url: Option<String>,
    /// Model server that answers instead of the built-in `echo`: its kind (`openai_chat`, `openai_responses`, `anthropic`,
    /// `ollama`) and the base URL of its API. Its name is `dev`.
    #[arg(long, value_name = "KIND=URL", requires = "model")]
    pub(crate) model_server: Option<ModelServer>,
    /// Model, as its server names it.
    #[arg(long, value_name = "NAME", requires = "model_server")]
    pub(crate) model: Option<String>,
    /// API key of the model server.
    #[arg(long, value_name = "KEY", env = "HANSARD_MODEL_API_KEY")]
    #[arg(hide_env_values = true)]
    pub(crate) model_api_key: Option<String>,
    /// Base of the ports: writer +1, gateway +2 (HTTP +3), metrics +11 to +13, NATS +20, Postgres +30. A port in use is
    /// replaced by a free one.
    #[arg(long, value_name = "PORT", default_value_t)]
    pub(crate) port_base: PortBase,
    /// Accept a NATS server whose settings lose acknowledged commits in a power failure.
    #[arg(long)]
    pub(crate) accept_data_loss: bool,
    /// Log filter, such as `info` or `writer=debug`.
    #[arg(long, value_name = "FILTER", default_value = "warn")]
    pub(crate) log_filter: String,
}

impl Args {
    /// The folder of all data.
    pub(crate) fn data_dir(&self) -> Result<PathBuf, StackError> {
        self.data_dir.clone().map_or_else(devstack::default_data_dir, Ok)
    }
}

/// How much of the data set is imported. Ordered: a larger amount contains a smaller one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Amount {
    /// Nothing.
    #[default]
    None,
    /// This number of conversations, at least 1.
    Some(u64),
    /// The whole data set.
    All,
}

impl FromStr for Amount {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "none" | "0" => Ok(Self::None),
            "all" => Ok(Self::All),
            _ => match text.parse() {
                Ok(count) => Ok(Self::Some(count)),
                Err(_) => Err("must be a number, `all` or `none`"),
            },
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Some(count) => write!(f, "{count}"),
            Self::All => f.write_str("all"),
        }
    }
}

/// A model server, as `KIND=URL`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelServer {
    pub(super) kind: ServerKind,
    pub(super) base_url: String,
}

impl FromStr for ModelServer {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, base_url) =
            text.split_once('=').ok_or("must be KIND=URL, such as openai_chat=http://127.0.0.1:8080/v1")?;
        let kind = match kind {
            "openai_chat" => ServerKind::OpenAiChat,
            "openai_responses" => ServerKind::OpenAiResponses,
            "anthropic" => ServerKind::Anthropic,
            "ollama" => ServerKind::Ollama,
            _ => return Err("the kind must be openai_chat, openai_responses, anthropic or ollama"),
        };
        Ok(Self { kind, base_url: base_url.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_parsed_and_ordered() {
        let check = |text: &str, expected| assert_eq!(text.parse().ok(), expected, "{text}");
        check("none", Some(Amount::None));
        check("0", Some(Amount::None));
        check("200", Some(Amount::Some(200)));
        check("all", Some(Amount::All));
        check("some", None);
        check("-1", None);
        assert!(Amount::None < Amount::Some(1) && Amount::Some(u64::MAX) < Amount::All);
        assert!(Amount::Some(1) < Amount::Some(2));
    }

    #[test]
    fn a_server_is_a_kind_and_a_url() {
        let check = |text: &str, expected: Option<ServerKind>| {
            let server: Option<ModelServer> = text.parse().ok();
            assert_eq!(server.map(|server| server.kind), expected, "{text}");
        };
        check("openai_chat=http://a/v1?b=c", Some(ServerKind::OpenAiChat));
        check("openai_responses=https://a", Some(ServerKind::OpenAiResponses));
        check("anthropic=http://a", Some(ServerKind::Anthropic));
        check("ollama=http://a", Some(ServerKind::Ollama));
        check("echo=http://a", None);
        check("http://a", None);
    }
}
