//! `hansard history load`: merges the stored history and the caller's messages.

use std::io::Write as _;
use std::path::PathBuf;

use wire::proto::event::v1::MessageAppended;
use wire::proto::history::v1::{LoadHistoryRequest, LoadHistoryResponse};
use wire::proto::read::v1::{AssembleContextResponse, ContextMessage, Turn, context_message};

use super::history_key_args::HistoryKeyArgs;
use super::{messages, print_warnings};
use crate::client::{answer, retrying};
use crate::commands::address::GatewayAddress;
use crate::console;
use crate::exit::Exit;
use crate::view::context;
use wire::json;

const MESSAGE: &str = "hansard.history.v1.LoadHistoryResponse";

/// Print the stored history merged with the caller's messages: oldest first, without duplicates.
///
/// Exit code 1: a warning explains why the history may be incomplete. Needs a service token with the scope `read`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    key: HistoryKeyArgs,
    /// File with the caller's messages, oldest first: JSON Lines of `hansard.event.v1.MessageAppended`.
    #[arg(long, value_name = "FILE")]
    messages: Option<PathBuf>,
    /// Maximum number of messages, 1 to 1,000.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    messages_max: u32,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    address: GatewayAddress,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let gateway = args.address.service()?;
    let given = args.messages.as_deref().map(messages).transpose()?;
    let request = LoadHistoryRequest {
        key: Some(args.key.key()?),
        messages: given.unwrap_or_default(),
        messages_max: args.messages_max,
    };
    let load = async || answer(gateway.history().load_history(request.clone()).await);
    let loaded = retrying(load).await?;
    let exit = print_warnings(&loaded.refused_keys, &loaded.warnings);
    if args.json {
        writeln!(console::out(), "{}", json::of(MESSAGE, &loaded)?)?;
    } else {
        show(loaded)?;
    }
    Ok(exit)
}

fn show(loaded: LoadHistoryResponse) -> anyhow::Result<()> {
    let count = loaded.messages.len();
    let omitted = "; older ones omitted";
    let truncated = if loaded.truncated { omitted } else { "" };
    let read = AssembleContextResponse {
        messages: loaded.messages.into_iter().map(turn).collect(),
        ..AssembleContextResponse::default()
    };
    let mut out = console::out();
    context::write(&mut out, &read)?;
    if !loaded.history_key.is_empty() {
        let (history, conversation) = (loaded.history_key, loaded.conversation_id);
        let version = format!("version {} of {conversation}", loaded.version);
        writeln!(out, "  ({count} messages of {history}, {version}{truncated})")?;
    }
    Ok(())
}

fn turn(message: MessageAppended) -> ContextMessage {
    let turn = Turn { role: message.role, parts: message.parts, author: message.author, tool_calls: Vec::new() };
    ContextMessage { kind: Some(context_message::Kind::Turn(turn)), ..ContextMessage::default() }
}
