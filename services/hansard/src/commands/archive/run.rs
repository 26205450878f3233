//! `hansard archive run`: from the record to sealed segments, partition by partition.

use archive::{Store, StoreUrl};
use domain::{Partition, TenantId, Timestamp};
use runtime::clock::Clock;

use super::age::{self, Age};
use super::gather::gather;
use super::report::Report;
use super::run_scope::RunScope;
use super::{leftovers, lock, plan};
use crate::commands::stores::{STORE, Stores, store_url};
use crate::exit::Exit;
use crate::ids::tenant;

/// Archive conversations in which nothing has happened for a while.
///
/// Safe on a live system. All of such a conversation but its last commit is written into segments, read back and compared,
/// told in the record's catalogue, and only then taken out of its stream. Conversations that are parked, erased or not
/// projected yet are left as they are. First of all what an earlier run left undone is finished, and conversations that were
/// erased since are taken out of their segments. Killed at any moment, run it again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard archive run --older-than 90d --to file:///srv/archive --dry-run
  hansard archive run --older-than 90d --to s3://bucket/prefix --json
  hansard archive run --older-than 36h --to file:///srv/archive --tenant acme")]
pub(super) struct Args {
    /// How long nothing has happened, in days or hours: 90d, 36h; at least 1h.
    #[arg(long, value_name = "AGE", value_parser = age::parse)]
    older_than: Age,
    /// Where segments are written.
    #[arg(long, value_name = STORE, value_parser = store_url)]
    to: StoreUrl,
    /// Only this tenant's conversations.
    #[arg(long, value_parser = tenant)]
    tenant: Option<TenantId>,
    /// Say what would be archived, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON Lines: one for each segment, and a summary.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    stores: Stores,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let scope = RunScope {
        archive: args.stores.open_archive("hansard-archive").await?,
        model: args.stores.read_model.open_for_long_statements()?,
        before: args.older_than.before(Timestamp(Clock::System.now_nanos())),
        tenant: args.tenant,
    };
    scope.model.check().await?;
    if args.dry_run {
        plan::tell(&scope, args.json).await?;
        return Ok(Exit::Done);
    }
    let _lock = lock(&scope.model).await?;
    let record = scope.archive.record();
    record.ensure_archive().await?;
    let store = Store::create(&args.to)?;
    let mut report = Report::begin(args.json);
    leftovers::finish(&scope.archive, &mut report).await?;
    for partition in (0..record.partitions()).map(Partition) {
        gather(&scope, &store, partition, &mut report).await?;
    }
    report.end()
}
