//! The arguments of `hansard dev`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use devstack::StackError;
use serde::{Deserialize, Serialize};

use super::model_server_arg::ModelServer;
use super::ports::PortBase;

/// Start everything on this machine, with a demo tenant and real conversations.
///
/// Runs NATS, Postgres, writer, projector and gateway. The first run makes a demo tenant with an agent, an API key
/// and a service token, and imports a first part of the chitchat data set; later runs find them there. NATS and
/// Postgres are found on the PATH, or fetched, or given by URL. Prints one assembled context and how to go on, and
/// stays up until Ctrl-C.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Model servers are those of a gateway's settings in the environment (HANSARD_MODELS__NAME__KIND), and
the one of --model-server, which answers for the demo agent. All other settings are dev's own.

Examples:
  hansard dev
  hansard dev --once --import none
  hansard dev --import all
  hansard dev --model-server ollama=http://127.0.0.1:11434 --model llama3.2
  hansard dev --nats-url nats://127.0.0.1:4222 --database-url postgres://hansard@127.0.0.1/hansard")]
pub struct Args {
    /// End after the context is printed.
    #[arg(long)]
    pub once: bool,
    /// How many conversations of the data set to import: a number, `all` or `none`.
    #[arg(long, value_name = "COUNT", default_value_t = Amount::Some(200))]
    pub import: Amount,
    /// The folder of all data. As root it must be one that an unprivileged Postgres can enter.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// A NATS that runs already.
    #[arg(long, value_name = "URL")]
    pub nats_url: Option<String>,
    /// A Postgres database that is there already.
    #[arg(long, value_name = "URL")]
    pub database_url: Option<String>,
    /// A model server that answers in place of the built-in `echo`: its kind (`openai_chat`, `openai_responses`, `anthropic`,
    /// `ollama`) and where its API begins. Its name is `dev`.
    #[arg(long, value_name = "KIND=URL", requires = "model")]
    pub model_server: Option<ModelServer>,
    /// The model, as its server names it.
    #[arg(long, value_name = "NAME", requires = "model_server")]
    pub model: Option<String>,
    /// The key that the model server asks for.
    #[arg(
        long,
        value_name = "KEY",
        env = "HANSARD_MODEL_API_KEY",
        hide_env_values = true
    )]
    pub model_api_key: Option<String>,
    /// The writer listens one port above it, the gateway two (HTTP: three), metrics from eleven, NATS 20, Postgres 30;
    /// free ports are taken where these are not free.
    #[arg(long, value_name = "PORT", default_value_t)]
    pub port_base: PortBase,
    /// Go on with a NATS that is seen to lose acknowledged commits when the power fails.
    #[arg(long)]
    pub accept_data_loss: bool,
    /// What is logged, such as `info` or `writer=debug`.
    #[arg(long, value_name = "FILTER", default_value = "warn")]
    pub log_filter: String,
}

impl Args {
    /// The folder of all data.
    ///
    /// # Errors
    /// None is given, and none can be derived.
    pub fn data_dir(&self) -> Result<PathBuf, StackError> {
        match &self.data_dir {
            Some(data_dir) => Ok(data_dir.clone()),
            None => devstack::default_data_dir(),
        }
    }
}

/// How much of the data set. Ordered: a larger one holds a smaller one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Amount {
    /// None of it.
    #[default]
    None,
    /// So many conversations, at least 1.
    Some(u64),
    /// All of it.
    All,
}

impl FromStr for Amount {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "none" | "0" => Ok(Self::None),
            "all" => Ok(Self::All),
            _ => text
                .parse()
                .map(Self::Some)
                .map_err(|_| "is no number, nor `all` or `none`"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_words_or_numbers_and_grow() {
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
}
