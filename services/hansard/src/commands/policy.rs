//! `hansard policy`: how the contexts of an agent are made.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Subcommand;
use wire::proto::operate::v1::{ContextPolicy, GetContextPolicyRequest, SetContextPolicyRequest};

use super::context::policy_json;
use super::registry::{AsJson, Call, print_json};
use crate::client::{Failure, Registrar};
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
        Action::Set { agent, file } => set(&mut registrar, agent, policy_json(&file)?).await?,
        Action::Show { agent, digest } => {
            let digest = hex::decode(digest.unwrap_or_default());
            let digest =
                digest.map_err(|_| UsageError("--digest is not hexadecimal".to_owned()))?;
            get(&mut registrar, agent, digest).await?
        }
    };
    print(&policy, AsJson(args.call.json))?;
    Ok(Exit::Done)
}

async fn set(
    registrar: &mut Registrar,
    agent_id: String,
    policy_json: String,
) -> Result<ContextPolicy, Failure> {
    let request = SetContextPolicyRequest {
        agent_id,
        policy_json,
    };
    let set = registrar.set_context_policy(request).await?.into_inner();
    Ok(set.policy.unwrap_or_default())
}

async fn get(
    registrar: &mut Registrar,
    agent_id: String,
    digest: Vec<u8>,
) -> Result<ContextPolicy, Failure> {
    let request = GetContextPolicyRequest {
        agent_id,
        digest: digest.into(),
    };
    let policy = registrar.get_context_policy(request).await?.into_inner();
    Ok(policy.policy.unwrap_or_default())
}

fn print(policy: &ContextPolicy, as_json: AsJson) -> anyhow::Result<()> {
    if as_json.0 {
        return print_json(MESSAGE, std::slice::from_ref(policy));
    }
    let settings: serde_json::Value = serde_json::from_str(&policy.policy_json)?;
    writeln!(console::out(), "{settings:#}")?;
    writeln!(console::err(), "sha256 {}", hex::encode(&policy.digest))?;
    Ok(())
}
