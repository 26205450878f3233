//! `hansard policy`: the context policies of agents.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Subcommand;
use wire::proto::operate::v1::{GetContextPolicyRequest, SetContextPolicyRequest};

use super::context::policy_json;
use super::registry::{Call, print_json};
use crate::client::answer;
use crate::console;
use crate::exit::{Exit, UsageError};

const MESSAGE: &str = "hansard.operate.v1.ContextPolicy";

/// Set and show the context policy of an agent.
///
/// Previous policies are kept, so that every context can be assembled again. Needs a service token with the scope `operate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard policy set support --file policy.json
  hansard policy show support
  hansard policy show support --digest 44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    call: Call,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Set the policy of an agent.
    Set {
        /// Id of the agent.
        agent: String,
        /// File with the policy, as JSON.
        #[arg(long)]
        file: PathBuf,
    },
    /// Show the policy of an agent, or an earlier one.
    Show {
        /// Id of the agent.
        agent: String,
        /// SHA-256 of an earlier policy, as a context receipt contains it.
        #[arg(long, value_name = "HEX")]
        digest: Option<String>,
    },
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let mut registry = args.call.registry()?;
    let stored = match args.action {
        Action::Set { agent, file } => {
            let request = SetContextPolicyRequest { agent_id: agent, policy_json: policy_json(&file)? };
            answer(registry.set_context_policy(request).await)?.policy
        }
        Action::Show { agent, digest } => {
            let digest = hex::decode(digest.unwrap_or_default())
                .map_err(|_| UsageError("--digest must be hexadecimal".to_owned()))?;
            let request = GetContextPolicyRequest { agent_id: agent, digest: digest.into() };
            answer(registry.get_context_policy(request).await)?.policy
        }
    };
    let policy = stored.unwrap_or_default();
    if args.call.json {
        return print_json(MESSAGE, &[policy]);
    }
    let settings: serde_json::Value = serde_json::from_str(&policy.policy_json)?;
    writeln!(console::out(), "{settings:#}")?;
    writeln!(console::err(), "sha256 {}", hex::encode(&policy.digest))?;
    Ok(Exit::Done)
}
