//! `hansard context`: prints or explains a context.

mod explain;
mod request_args;

use std::io::Write as _;
use std::path::PathBuf;

use wire::proto::read::v1::{AssembleContextRequest, AssembleContextResponse};

use super::address::GatewayAddress;
use crate::client::{Failure, Service, answer, retrying};
use crate::console;
use crate::exit::Exit;
use crate::view::context;
use request_args::ContextRequestArgs;
pub(super) use request_args::policy_json;
use wire::json;

const MESSAGE: &str = "hansard.read.v1.AssembleContextResponse";
/// The full name of the receipt's protobuf message.
pub(super) const RECEIPT: &str = "hansard.read.v1.Receipt";

/// The arguments: without the subcommand `explain`, those of printing.
#[derive(Debug)]
pub(crate) enum Args {
    Print(Print),
    Explain(explain::Args),
}

/// Print the context of a conversation: what a model reads next.
///
/// Without a format, prints the last messages as readable text. With a format, prints the part of the provider's request body
/// that contains the context. Needs a service token with the scope `read`.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  hansard context 0198c0de-0000-7000-8000-000000000001 --agent support
  hansard context conversation-1 --agent support --messages 10 --json | jq .messages
  hansard context conversation-1 --agent support --format anthropic --receipt receipt.json | jq .messages
  hansard context conversation-1 --agent support --format openai-chat --policy policy.json --at 120
  hansard context explain conversation-1 --agent support"
)]
pub(crate) struct Print {
    /// Id of the conversation.
    conversation: String,
    #[command(flatten)]
    request: ContextRequestArgs,
    /// File for the context receipt, which `hansard verify-receipt` checks; requires --format.
    #[arg(long, value_name = "FILE", requires = "format")]
    receipt: Option<PathBuf>,
    /// Print the answer as protobuf JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    address: GatewayAddress,
}

// clap cannot derive arguments that are required only without a subcommand.
impl clap::FromArgMatches for Args {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Self, clap::Error> {
        Ok(match matches.subcommand() {
            Some((_, explain)) => Self::Explain(explain::Args::from_arg_matches(explain)?),
            None => Self::Print(Print::from_arg_matches(matches)?),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for Args {
    fn augment_args(command: clap::Command) -> clap::Command {
        let explain = explain::Args::augment_args(clap::Command::new("explain"));
        Print::augment_args(command).subcommand(explain)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    match args {
        Args::Print(args) => show(args).await,
        Args::Explain(args) => explain::run(args).await,
    }
}

async fn show(args: Print) -> anyhow::Result<Exit> {
    let request = args.request.request(&args.conversation)?;
    let context = assemble(&args.address.service()?, &request).await?;
    let mut out = console::out();
    if args.json {
        writeln!(out, "{}", json::of(MESSAGE, &context)?)?;
    } else if context.body.is_empty() {
        context::write(&mut out, &context)?;
    } else {
        out.write_all(&context.body)?;
        writeln!(out)?;
    }
    if let (Some(file), Some(receipt)) = (args.receipt, &context.receipt) {
        let text = format!("{:#}\n", json::of(RECEIPT, receipt)?);
        std::fs::write(&file, text).map_err(|error| anyhow::anyhow!("cannot write {}: {error}", file.display()))?;
    }
    Ok(Exit::Done)
}

/// Assembles a context.
pub(super) async fn assemble(
    gateway: &Service,
    request: &AssembleContextRequest,
) -> Result<AssembleContextResponse, Failure> {
    retrying(|| async { answer(gateway.reader().assemble_context(request.clone()).await) }).await
}
