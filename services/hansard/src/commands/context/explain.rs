//! `hansard context explain`: what a context includes, what it omits or changes, and why.

use std::io::Write as _;

use formats::Format;
use wire::proto::read::v1 as proto;

use super::request_args::ContextRequestArgs;
use super::{RECEIPT, assemble};
use crate::client::{Failure, Service, answer, retrying};
use crate::commands::address::GatewayAddress;
use crate::console;
use crate::exit::Exit;
use crate::view::explanation;
use wire::json;

/// Most events shown one by one, and no more than a page has bytes; older ones share a row.
const EVENTS_SHOWN_MAX: u64 = 1_000;
/// The full name of an outcome's message.
const OUTCOME: &str = "hansard.read.v1.StageOutcome";

/// Show what a context includes, what it omits or changes, and why.
///
/// The gateway returns what each stage did; this command prints it by version. Needs a service token with the scope `read`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard context explain conversation-1 --agent support
  hansard context explain conversation-1 --agent support --format gemini --at 120 --json | jq .tokens
  hansard context explain conversation-1 --agent support --json | jq -c '.outcomes[]'")]
pub(crate) struct Args {
    /// The conversation.
    conversation: String,
    #[command(flatten)]
    request: ContextRequestArgs,
    /// Print the receipt and the outcomes of the stages as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    address: GatewayAddress,
}

pub(super) async fn run(mut args: Args) -> anyhow::Result<Exit> {
    args.request.format = args.request.format.or(Some(Format::Canonical));
    let gateway = args.address.service()?;
    let mut request = args.request.request(&args.conversation)?;
    request.with_outcomes = true;
    let context = assemble(&gateway, &request).await?;
    let receipt = context.receipt.unwrap_or_default();
    let mut out = console::out();
    if args.json {
        writeln!(out, "{}", as_json(&receipt, &context.outcomes)?)?;
    } else {
        let target = args.request.target(&args.conversation);
        let events = events(&gateway, target, &receipt).await?;
        explanation::write(&mut out, &receipt, &context.outcomes, &events)?;
    }
    Ok(Exit::Done)
}

/// The receipt as JSON, with the outcomes of the stages.
fn as_json(receipt: &proto::Receipt, outcomes: &[proto::StageOutcome]) -> anyhow::Result<serde_json::Value> {
    let mut json = json::of(RECEIPT, receipt)?;
    let outcomes = outcomes.iter().map(|outcome| json::of(OUTCOME, outcome));
    if let Some(members) = json.as_object_mut() {
        members.insert("outcomes".to_owned(), outcomes.collect::<Result<_, _>>()?);
    }
    Ok(json)
}

/// The newest events of the version that was assembled, oldest first.
async fn events(
    gateway: &Service,
    target: proto::ReadTarget,
    receipt: &proto::Receipt,
) -> Result<Vec<proto::RecordedEvent>, Failure> {
    let epoch = receipt.epoch.unwrap_or_default();
    let oldest_shown = receipt.version.saturating_sub(EVENTS_SHOWN_MAX - 1);
    let request = proto::ListEventsRequest {
        target: Some(target),
        from_version: epoch.first_version.max(oldest_shown).max(1),
        to_version: receipt.version,
        direction: proto::Direction::Backward.into(),
        page_size: u32::try_from(EVENTS_SHOWN_MAX).unwrap_or(u32::MAX),
        ..proto::ListEventsRequest::default()
    };
    let page = retrying(|| async { answer(gateway.reader().list_events(request.clone()).await) });
    let mut events = page.await?.events;
    events.reverse();
    Ok(events)
}
