//! `hansard parked list`: lists parked conversations.

use domain::Partition;
use read_model::ReadModel;
use read_model::projections::conversations::parking::{self, ParkedConversation};

use super::json_of;
use crate::commands::stores::ReadModelAddress;
use crate::exit::Exit;
use crate::table;

/// Parked conversations per page.
const PAGE: u32 = 500;

/// List the parked conversations, ordered by tenant and conversation.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    read_model: ReadModelAddress,
    /// Only conversations of this partition, from 0.
    #[arg(long)]
    partition: Option<u16>,
    /// Print JSON Lines.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let model = args.read_model.open()?;
    let all = all(&model, args.partition.map(Partition)).await?;
    let header = ["TENANT", "CONVERSATION", "PARTITION", "SEQUENCE", "TRIED", "WAITING", "REASON"];
    table::print_list(&all, args.json.then_some(json_of), header, row)?;
    Ok(Exit::Done)
}

/// Reads all parked conversations, page by page.
pub(super) async fn all(model: &ReadModel, partition: Option<Partition>) -> anyhow::Result<Vec<ParkedConversation>> {
    let mut all: Vec<ParkedConversation> = Vec::new();
    loop {
        let after = all.last().map(|last| last.key.clone());
        let page = parking::list(model, partition, after.as_ref(), PAGE).await?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page);
    }
}

fn row(parked: &ParkedConversation) -> [String; 7] {
    [
        parked.key.tenant.to_string(),
        parked.key.conversation.to_string(),
        parked.position.partition.to_string(),
        parked.position.sequence.to_string(),
        parked.attempts.to_string(),
        parked.commits.to_string(),
        parked.reason.clone(),
    ]
}
