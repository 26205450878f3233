//! `hansard history record`: appends new messages to a keyed history.

use std::io::Write as _;
use std::path::PathBuf;

use uuid::Uuid;
use wire::proto::history::v1::RecordHistoryRequest;

use super::history_key_args::HistoryKeyArgs;
use super::{messages, print_warnings};
use crate::client::{answer, retrying};
use crate::commands::address::GatewayAddress;
use crate::console;
use crate::exit::Exit;
use wire::json;

const MESSAGE: &str = "hansard.history.v1.RecordHistoryResponse";

/// Append the caller's messages that are new. `hansard history load` with the same messages shows the result in advance.
///
/// Exit code 1: a warning lists what was not recorded. Needs a service token with the scopes `read` and `append`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    key: HistoryKeyArgs,
    /// File with the caller's messages, oldest first: JSON Lines of `hansard.event.v1.MessageAppended`.
    #[arg(long, value_name = "FILE")]
    messages: PathBuf,
    /// Version that `hansard history load` printed.
    #[arg(long, value_name = "VERSION")]
    loaded_version: Option<u64>,
    /// UUID that identifies this call in retries; by default a new one.
    #[arg(long, value_name = "UUID")]
    idempotency_key: Option<Uuid>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    address: GatewayAddress,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let gateway = args.address.service()?;
    let idempotency_key = args.idempotency_key.unwrap_or_else(Uuid::now_v7);
    let request = RecordHistoryRequest {
        messages: messages(&args.messages)?,
        key: Some(args.key.key()?),
        loaded_version: args.loaded_version,
        idempotency_key: idempotency_key.to_string(),
    };
    let record = async || answer(gateway.history().record_history(request.clone()).await);
    let recorded = retrying(record).await?;
    let exit = print_warnings(&recorded.refused_keys, &recorded.warnings);
    let mut out = console::out();
    if args.json {
        writeln!(out, "{}", json::of(MESSAGE, &recorded)?)?;
    } else if !recorded.history_key.is_empty() {
        let (history, conversation) = (recorded.history_key, recorded.conversation_id);
        let (count, version) = (recorded.appended_count, recorded.version);
        writeln!(out, "{count} appended to {history}, now version {version} of {conversation}")?;
    }
    Ok(exit)
}
