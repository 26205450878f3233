//! `hansard rebuild search`: indexes conversations for the search again.

use std::io::Write as _;
use std::time::Duration;

use domain::TenantId;
use read_model::projections::search::{reindexing_agents, request_reindex};
use serde_json::json;
use tokio::time::sleep;

use crate::commands::stores::ReadModelAddress;
use crate::console;
use crate::exit::{Exit, UsageError};

/// Interval between looks at the progress.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Index conversations for the search again, from the rows of their events.
///
/// Projectors do it in the background, and searches continue meanwhile. Waits until it is done; interrupting this command does not
/// stop it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard rebuild search
  hansard rebuild search --tenant acme")]
pub(super) struct Args {
    /// Only the conversations of this tenant.
    #[arg(long)]
    tenant: Option<String>,
    #[command(flatten)]
    read_model: ReadModelAddress,
    /// Print a JSON object.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let tenant = args.tenant.map(TenantId::parse).transpose().map_err(|violation| {
        let rule = violation.description;
        UsageError(format!("--tenant {rule}"))
    })?;
    let model = args.read_model.open()?;
    model.check().await?;
    let agents = request_reindex(&model, tenant.as_ref()).await?;
    while reindexing_agents(&model).await? > 0 {
        sleep(POLL_INTERVAL).await;
    }
    let mut out = console::out();
    if args.json {
        let line = json!({ "agents": agents, "done": true });
        writeln!(out, "{line}")?;
    } else {
        writeln!(out, "{agents} agents are indexed again")?;
    }
    Ok(Exit::Done)
}
