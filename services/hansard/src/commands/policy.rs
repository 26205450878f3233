//! `hansard policy`: how the contexts of an agent are made.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Subcommand;
use wire::proto::operate::v1::{ContextPolicy, GetContextPolicyRequest, SetContextPolicyRequest};

use super::context::policy_json;
use super::registry::{Call, print_json};
use crate::console;
use crate::exit::{Exit, UsageError};

const MESSAGE: &str = "hansard.operate.v1.ContextPolicy";

/// Set and show how the contexts of an agent are made.
///
/// A policy that was set before is kept, so that every context can be made again. Needs a service token with the scope
/// `operate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard policy set support --file policy.json
  hansard policy show support
  hansard policy show support --digest 44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    call: Call,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Set the policy of an agent.
    Set {
        /// The agent.
        agent: String,
        /// The policy, as JSON.
        #[arg(long)]
        file: PathBuf,
    },
    /// Show the policy of an agent, or one that it had before.
    Show {
        /// The agent.
        agent: String,
        /// The SHA-256 that a receipt names.
        #[arg(long, value_name = "HEX")]
        digest: Option<String>,
    },
}

/// Runs the command.
///
/// # Errors
/// What the service says.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let mut registrar = args.call.registrar()?;
    let policy = match args.action {
        Action::Set { agent, file } => {
            let request = SetContextPolicyRequest {
                agent_id: agent,
                policy_json: policy_json(&file)?,
            };
            registrar
                .set_context_policy(request)
                .await?
                .into_inner()
                .policy
        }
        Action::Show { agent, digest } => {
            let digest = hex::decode(digest.unwrap_or_default());
            let digest =
                digest.map_err(|_| UsageError("--digest is not hexadecimal".to_owned()))?;
            let request = GetContextPolicyRequest {
                agent_id: agent,
                digest: digest.into(),
            };
            registrar
                .get_context_policy(request)
                .await?
                .into_inner()
                .policy
        }
    };
    print(&policy.unwrap_or_default(), args.call.json)?;
    Ok(Exit::Done)
}

fn print(policy: &ContextPolicy, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return print_json(MESSAGE, std::slice::from_ref(policy));
    }
    let settings: serde_json::Value = serde_json::from_str(&policy.policy_json)?;
    writeln!(console::out(), "{settings:#}")?;
    writeln!(console::err(), "sha256 {}", hex::encode(&policy.digest))?;
    Ok(())
}
