//! `hansard archive`: moves old commits from the record's streams to sealed segments. Accesses NATS, Postgres and the
//! segment store directly, without a service.

mod age;
mod databases;
mod hibernate;
mod list;
mod partition;
mod plan;
mod read;
mod report;
mod run;
mod segment_builder;
mod sweep;
mod unfinished;
mod verify;

use std::collections::BTreeMap;

use archive::Archive;
use archive::segment::ConversationEntry;
use domain::{ConversationKey, Partition, TenantId, Timestamp};
use event_log::Removal;
use read_model::projections::conversations::ErasedConversations;
use read_model::projections::conversations::verification::RowPosition;

use crate::exit::Exit;
use databases::Databases;

/// Move old commits from the record to sealed segments in a folder or in S3.
///
/// The last commit of each conversation stays in the record, unless `run --hibernate` removes it. The rows stay. So appends and reads
/// work as before.
/// Rebuild, verify and erase read the segments: keep their store as safe as the record. The record holds the catalogue of
/// all segments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard archive run --older-than 90d --to file:///srv/archive --dry-run
  hansard archive run --older-than 90d --to file:///srv/archive
  hansard archive run --older-than 90d --to file:///srv/archive --hibernate
  hansard archive list
  hansard archive verify
  hansard archive read --tenant acme --conversation c-1 --format transcript")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Run(run::Args),
    List(list::Args),
    Verify(verify::Args),
    Sweep(sweep::Args),
    Read(read::Args),
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    match args.action {
        Action::Run(args) => Box::pin(run::run(args)).await,
        Action::List(args) => list::run(args).await,
        Action::Verify(args) => verify::run(args).await,
        Action::Sweep(args) => sweep::run(args).await,
        Action::Read(args) => read::run(args).await,
    }
}

/// The newest range of each hibernated conversation of a partition.
type Sealed = BTreeMap<ConversationKey, ConversationEntry>;

/// The stores and the selection of an archive run.
struct RunScope {
    archive: Archive,
    databases: Databases,
    /// Conversations whose last commit is older are archived.
    before: Timestamp,
    tenant: Option<TenantId>,
    /// Whether last commits leave the record as well.
    hibernates: bool,
    /// What happens to the bytes of commits that leave the record.
    removal: Removal,
}

impl RunScope {
    /// The hibernated conversations of a partition, if the run hibernates.
    async fn sealed(&self, partition: Partition) -> anyhow::Result<Sealed> {
        if !self.hibernates {
            return Ok(Sealed::new());
        }
        Ok(self.archive.hibernated_conversations(partition).await?)
    }

    /// Those of some conversations that are idle, except those whose last commit is sealed.
    async fn idle(&self, keys: &[&ConversationKey], sealed: &Sealed) -> anyhow::Result<Vec<RowPosition>> {
        let erased = if self.hibernates { ErasedConversations::Included } else { ErasedConversations::Excluded };
        let mut idle = self.databases.idle(keys, self.before, erased).await?;
        idle.retain(|place| {
            let sealed = sealed.get(&place.key);
            sealed.is_none_or(|range| range.last < place.position.sequence)
        });
        Ok(idle)
    }
}
