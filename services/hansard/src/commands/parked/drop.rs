//! `hansard parked drop`.

use std::io::Write as _;

use domain::Sequence;
use read_model::projections::conversations::parking;
use serde_json::json;

use super::{Which, not_parked};
use crate::commands::stores::ReadModelAddress;
use crate::console;
use crate::exit::{Exit, UsageError};

/// Most waiting commits among which the one to drop is looked for.
const WAITING_MAX: u32 = 10_000;

/// Give up one waiting commit of a parked conversation: the first, unless told otherwise.
///
/// Readers will never see its events; the record still holds it, and a rebuild meets it again. The conversation stays parked
/// until it is tried again, with versions missing where the commit was. Says what it would do unless told --yes.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    which: Which,
    /// The commit, by its sequence.
    #[arg(long)]
    sequence: Option<u64>,
    #[command(flatten)]
    read_model: ReadModelAddress,
    /// Do it.
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,
    /// Say what it would do; nothing else happens without --yes either, but that it is a mistake then.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let model = args.read_model.open()?;
    let key = args.which.key();
    let parked = parking::find(&model, &key).await?;
    parked.ok_or_else(|| not_parked(&args.which))?;
    let waiting = parking::waiting(&model, &key, WAITING_MAX).await?;
    let (tenant, conversation) = (&key.tenant, &key.conversation);
    let first = || anyhow::anyhow!("no commit of {tenant} / {conversation} waits");
    let sequence = match args.sequence {
        Some(sequence) => Sequence(sequence),
        None => *waiting.first().ok_or_else(first)?,
    };
    let waits = waiting.contains(&sequence);
    if !waits {
        anyhow::bail!("no commit of {tenant} / {conversation} waits at sequence {sequence}");
    }
    let is_dropped = args.yes && parking::drop_commit(&model, &key, sequence).await?;
    tell(&args, sequence, is_dropped)?;
    if args.yes || args.dry_run {
        return Ok(Exit::Done);
    }
    Err(UsageError("nothing was done: give --yes to do it".to_owned()).into())
}

fn tell(args: &Args, sequence: Sequence, is_dropped: bool) -> anyhow::Result<()> {
    let mut out = console::out();
    let (tenant, conversation) = (&args.which.tenant, &args.which.conversation);
    if args.json {
        let told = json!({
            "tenantId": tenant.as_str(),
            "conversationId": conversation.as_str(),
            "sequence": sequence.0,
            "dropped": is_dropped,
        });
        writeln!(out, "{told}")?;
        return Ok(());
    }
    let what = match (is_dropped, args.yes) {
        (true, _) => "dropped",
        (false, true) => "was dropped by somebody else:",
        (false, false) => "would drop",
    };
    writeln!(
        out,
        "{what} the commit at sequence {sequence} of {tenant} / {conversation}"
    )?;
    if is_dropped {
        writeln!(out, "now: hansard parked retry {tenant} {conversation}")?;
    }
    Ok(())
}
