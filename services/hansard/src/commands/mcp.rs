//! `hansard mcp`: the tools of a gateway, over standard input and output.

use std::path::{Path, PathBuf};

use runtime::config::Secret;

use crate::exit::{Exit, UsageError};
use crate::ids::secret;
use crate::mcp::{self, Endpoint};

/// The default URL: the gateway of `hansard dev`.
const DEFAULT_URL: &str = "http://127.0.0.1:7303/mcp";

/// Serve the MCP tools of a gateway over standard input and output, for hosts that start their servers as programs.
///
/// Relays each message to the gateway's `/mcp`, which checks the token. Ends with standard input. Needs a service token with the
/// scopes `read` and `append`, or an administrator's token; with an API key, a user's token.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  HANSARD_TOKEN=… hansard mcp --url https://chat.example.org/mcp
  hansard mcp --url https://chat.example.org/mcp --token-file ~/.config/hansard/token --agent support

Configuration of a host:
  {\"mcpServers\": {\"hansard\": {\"command\": \"hansard\", \"args\": [\"mcp\", \"--url\", \"https://chat.example.org/mcp\"],
    \"env\": {\"HANSARD_TOKEN\": \"…\"}}}}")]
pub(crate) struct Args {
    /// URL of the gateway's MCP endpoint.
    #[arg(long, env = "HANSARD_MCP_URL", hide_env_values = true, default_value = DEFAULT_URL)]
    url: String,
    /// Token. Prefer the environment variable or --token-file: process lists show command-line arguments.
    #[arg(
        long, env = "HANSARD_TOKEN", hide_env_values = true, value_parser = secret(),
        required_unless_present = "token_file"
    )]
    token: Option<Secret>,
    /// File with the token.
    #[arg(long, env = "HANSARD_TOKEN_FILE", value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The agent, if the token does not determine it.
    #[arg(long, env = "HANSARD_AGENT")]
    agent: Option<String>,
    /// The API key of an agent: the token is then that of a user.
    #[arg(long, env = "HANSARD_API_KEY", hide_env_values = true, value_parser = secret())]
    api_key: Option<Secret>,
    /// PEM file with the certificates to trust, in place of the system's.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let token = match (args.token, &args.token_file) {
        (_, Some(file)) => read(file)?,
        (Some(token), None) => token,
        (None, None) => {
            return Err(UsageError("--token or --token-file is required".to_owned()).into());
        }
    };
    let endpoint = Endpoint { url: args.url, token, agent: args.agent, api_key: args.api_key, ca: args.ca };
    mcp::relay(&endpoint).await?;
    Ok(Exit::Done)
}

fn read(file: &Path) -> Result<Secret, UsageError> {
    let name = file.display();
    let content = std::fs::read_to_string(file)
        .map_err(|error| UsageError(format!("cannot read the token file {name}: {error}")))?;
    let text = content.trim();
    if text.is_empty() {
        return Err(UsageError(format!("the token file {name} is empty")));
    }
    Ok(Secret::new(text))
}
