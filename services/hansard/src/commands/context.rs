//! `hansard context`: what a model should read next.

use std::io::Write as _;

use wire::proto::read::v1::{
    AssembleContextRequest, AssembleContextResponse, Consistency, ReadTarget,
};

use super::address::GatewayAddress;
use crate::client::{Failure, Service, retrying};
use crate::console;
use crate::exit::Exit;
use crate::view::{context, json};

const MESSAGE: &str = "hansard.read.v1.AssembleContextResponse";

/// Print what a model should read next of a conversation.
///
/// Needs a service token with the scope `read`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard context 0198c0de-0000-7000-8000-000000000001 --agent support
  hansard context conversation-1 --agent support --messages 10 --json | jq .messages")]
pub struct Args {
    /// The conversation.
    conversation: String,
    /// The agent that speaks in it.
    #[arg(long, env = "HANSARD_AGENT", hide_env_values = true)]
    agent: String,
    /// Most messages, 1 to 1,000; a turn and the results of its calls come whole.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    messages: u32,
    /// Take what the read model holds, however far it is.
    #[arg(long)]
    eventual: bool,
    /// Print JSON, as gRPC's command-line clients do.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    address: GatewayAddress,
}

/// Runs the command.
///
/// # Errors
/// What the service says.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let consistency = if args.eventual {
        Consistency::Eventual
    } else {
        Consistency::Fresh
    };
    let request = AssembleContextRequest {
        target: Some(ReadTarget {
            agent_id: args.agent,
            conversation_id: args.conversation,
            consistency: consistency.into(),
            position_token: String::new(),
        }),
        messages_max: args.messages,
    };
    let context = assemble(&args.address.service()?, &request).await?;
    if args.json {
        writeln!(console::out(), "{}", json::of(MESSAGE, &context)?)?;
    } else {
        context::write(&mut console::out(), &context)?;
    }
    Ok(Exit::Done)
}

/// Assembles a context.
///
/// # Errors
/// What the service says, or that it does not answer.
pub async fn assemble(
    gateway: &Service,
    request: &AssembleContextRequest,
) -> Result<AssembleContextResponse, Failure> {
    retrying(|| async {
        let answer = gateway.reader().assemble_context(request.clone()).await?;
        Ok(answer.into_inner())
    })
    .await
}
