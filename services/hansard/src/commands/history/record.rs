//! `hansard history record`: appends what is new.

use std::io::Write as _;
use std::path::PathBuf;

use uuid::Uuid;
use wire::proto::history::v1::RecordHistoryRequest;

use super::keyed::Keyed;
use super::{complain, messages};
use crate::client::retrying;
use crate::commands::address::GatewayAddress;
use crate::console;
use crate::exit::Exit;
use crate::view::json;

const MESSAGE: &str = "hansard.history.v1.RecordHistoryResponse";

/// Append those of the caller's messages that are new; `load` with the same messages shows what will be there.
///
/// Exit code 1 where a warning says what was not recorded. Needs a service token with the scopes `read` and `append`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    keyed: Keyed,
    /// A file with what the caller has now, oldest first: JSON Lines of `hansard.event.v1.MessageAppended`.
    #[arg(long, value_name = "FILE")]
    messages: PathBuf,
    /// The version that `load` told.
    #[arg(long, value_name = "VERSION")]
    loaded_version: Option<u64>,
    /// A UUID that names this call for all of its retries; by default a new one.
    #[arg(long, value_name = "UUID")]
    idempotency_key: Option<Uuid>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    address: GatewayAddress,
}

/// Records.
///
/// # Errors
/// A file cannot be read, or what the service says.
pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let gateway = args.address.service()?;
    let named = args.idempotency_key.unwrap_or_else(Uuid::now_v7);
    let request = RecordHistoryRequest {
        messages: messages(&args.messages)?,
        key: Some(args.keyed.key()?),
        loaded_version: args.loaded_version,
        idempotency_key: named.to_string(),
    };
    let recorded = retrying(|| async {
        let answer = gateway.historian().record_history(request.clone()).await?;
        Ok(answer.into_inner())
    });
    let recorded = recorded.await?;
    let exit = complain(&recorded.refused_keys, &recorded.warnings);
    let mut out = console::out();
    if args.json {
        writeln!(out, "{}", json::of(MESSAGE, &recorded)?)?;
    } else if !recorded.history_key.is_empty() {
        writeln!(
            out,
            "{} appended to {}, now version {} of {}",
            recorded.appended_count,
            recorded.history_key,
            recorded.version,
            recorded.conversation_id
        )?;
    }
    Ok(exit)
}
