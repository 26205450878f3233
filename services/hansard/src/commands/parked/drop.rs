//! `hansard parked drop`: drops one waiting commit of a parked conversation.

use std::io::Write as _;

use anyhow::Context as _;
use domain::Sequence;
use read_model::projections::conversations::parking;
use serde_json::json;

use super::{ConversationArgs, find_parked};
use crate::commands::stores::ReadModelAddress;
use crate::console;
use crate::exit::{Exit, UsageError};

/// The maximum number of waiting commits that are searched.
const WAITING_MAX: u32 = 10_000;

/// Drop one waiting commit of a parked conversation, by default the first.
///
/// Readers will not see its events. The record keeps the commit, and a rebuild reads it again. The conversation stays parked
/// until `hansard parked retry`; the versions of the commit are then missing. Without --yes, only prints what it would do.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    conversation: ConversationArgs,
    /// Sequence of the commit.
    #[arg(long)]
    sequence: Option<u64>,
    #[command(flatten)]
    read_model: ReadModelAddress,
    /// Drop the commit.
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,
    /// Print what would be dropped, and end with exit code 0. Without --yes and --dry-run, the exit code is that of wrong usage.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let model = args.read_model.open()?;
    let key = args.conversation.key();
    find_parked(&model, &key).await?;
    let waiting = parking::waiting(&model, &key, WAITING_MAX).await?;
    let (tenant, conversation) = (&key.tenant, &key.conversation);
    let none = || format!("{tenant} / {conversation} has no waiting commit");
    let sequence = match args.sequence {
        Some(sequence) => Sequence(sequence),
        None => *waiting.first().with_context(none)?,
    };
    anyhow::ensure!(waiting.contains(&sequence), "{} at sequence {sequence}: see `hansard parked show`", none());
    let is_dropped = args.yes && parking::drop_commit(&model, &key, sequence).await?;
    let mut out = console::out();
    let what = match (is_dropped, args.yes) {
        (true, _) => "dropped",
        (false, true) => "another command already dropped",
        (false, false) => "would drop",
    };
    if args.json {
        let output = json!({
            "tenantId": tenant.as_str(), "conversationId": conversation.as_str(), "sequence": sequence.0,
            "dropped": is_dropped,
        });
        writeln!(out, "{output}")?;
    } else {
        let of = format!("{tenant} / {conversation}");
        writeln!(out, "{what} the commit at sequence {sequence} of {of}")?;
        if is_dropped {
            writeln!(out, "next: hansard parked retry {tenant} {conversation}")?;
        }
    }
    let hint = "nothing was dropped: give --yes to drop the commit";
    anyhow::ensure!(args.yes || args.dry_run, UsageError(hint.to_owned()));
    Ok(Exit::Done)
}
