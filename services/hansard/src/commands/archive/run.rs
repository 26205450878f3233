//! `hansard archive run`: moves old commits to sealed segments, partition by partition.

use std::time::Duration;

use archive::{CATALOGUE_AGE_MAX, HIBERNATION_DELAY_MIN, Store, StoreUrl};
use clap::ValueEnum;
use domain::{Partition, TenantId};
use event_log::Removal;

use super::age::{self, Age};
use super::databases::Databases;
use super::partition::archive_partition;
use super::report::Report;
use super::{RunScope, hibernate, plan, unfinished};
use crate::commands::stores::{STORE, ShardAddresses, Stores, store_url};
use crate::exit::Exit;
use crate::ids::tenant;
use crate::view::when::record_time;

/// The default of `--delay-seconds`.
const DELAY_SECONDS: u64 = HIBERNATION_DELAY_MIN.as_secs();
/// A process can use a catalogue for almost this many seconds.
const DELAY_SECONDS_MIN: u64 = CATALOGUE_AGE_MAX.as_secs() + 1;
const DELAY_SECONDS_MAX: u64 = 60 * 60;

/// Archive conversations without recent commits.
///
/// Safe on a live system. All commits of such a conversation except the last one (with `--hibernate`: all) are written to segments, read back and
/// compared, added to the record's catalogue, and then removed from their stream. Conversations that are parked, erased or not
/// projected yet are skipped; with `--hibernate`, tombstones of erased ones are archived as well. The run first completes an interrupted earlier run and removes erased conversations from
/// segments. After an interruption, run the same command again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard archive run --older-than 90d --to file:///srv/archive --dry-run
  hansard archive run --older-than 90d --to s3://bucket/prefix --json
  hansard archive run --older-than 90d --to file:///srv/archive --hibernate
  hansard archive run --older-than 90d --to file:///srv/archive --hibernate --removal delete
  hansard archive run --older-than 36h --to file:///srv/archive --tenant acme")]
pub(super) struct Args {
    /// Minimum age of the last commit, in days or hours: 90d, 36h; from 1h to 36500d.
    #[arg(long, value_name = "AGE", value_parser = age::parse)]
    older_than: Age,
    /// Store to which segments are written.
    #[arg(long, value_name = STORE, value_parser = store_url)]
    to: StoreUrl,
    /// Only conversations of this tenant.
    #[arg(long, value_parser = tenant)]
    tenant: Option<TenantId>,
    /// Also remove the last commit of each conversation, so that it costs no server memory. An append reads it from its segment.
    /// Writers and gateways need the store then.
    #[arg(long)]
    hibernate: bool,
    /// What happens to the bytes of commits that leave the record.
    #[arg(long, value_enum, default_value_t)]
    removal: RemovalArgument,
    /// Time between a segment and the removal of last commits, in seconds, 11 to 3,600. Less than 120 is only safe if no call of a
    /// writer, and no message on its way to NATS, takes longer than this minus 10 seconds.
    #[arg(
        long, value_name = "SECONDS", default_value_t = DELAY_SECONDS, requires = "hibernate",
        value_parser = clap::value_parser!(u64).range(DELAY_SECONDS_MIN..=DELAY_SECONDS_MAX)
    )]
    delay_seconds: u64,
    /// Print what would be archived, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON Lines: one per segment, and a summary.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    shards: ShardAddresses,
    #[command(flatten)]
    stores: Stores,
}

/// The values of `--removal`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum RemovalArgument {
    /// Overwritten one by one, as by an erasure. A later erasure leaves nothing.
    #[default]
    Overwrite,
    /// Freed when more than half of a block of up to 8 MiB is removed: ten times as fast or more, with a thousandth of the writes. Until
    /// then, an erasure leaves them on the disks of NATS.
    Delete,
}

impl From<RemovalArgument> for Removal {
    fn from(removal: RemovalArgument) -> Self {
        match removal {
            RemovalArgument::Overwrite => Self::Overwrite,
            RemovalArgument::Delete => Self::Delete,
        }
    }
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let archive = args.stores.open_archive("hansard-archive").await?;
    let scope = RunScope {
        before: args.older_than.before(record_time(archive.record())),
        archive,
        databases: Databases::open(
            args.stores.read_model.open_for_long_statements()?,
            args.shards.open_for_long_statements()?,
        )
        .await?,
        tenant: args.tenant,
        hibernates: args.hibernate,
        removal: args.removal.into(),
    };
    scope.databases.check_belong(scope.archive.record()).await?;
    if args.dry_run {
        plan::print(&scope, args.json).await?;
        return Ok(Exit::Done);
    }
    let _locks = scope.databases.lock().await?;
    let record = scope.archive.record();
    record.ensure_archive().await?;
    let store = Store::create(&args.to)?;
    let mut report = Report::begin(args.json);
    unfinished::finish(&scope.archive, scope.removal, &mut report).await?;
    for partition in (0..record.partitions()).map(Partition) {
        archive_partition(&scope, &store, partition, &mut report).await?;
    }
    let delay = Duration::from_secs(args.delay_seconds);
    hibernate::finish(&scope.archive, scope.removal, delay, &mut report).await?;
    report.end()
}
