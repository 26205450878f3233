//! `hansard verify`: compares the rows with the record. Reads NATS and Postgres directly, without a service.
//!
//! `full` reads everything and compares digests, `sampled` examines some conversations, `digests` compares only the positions
//! of conversations, `documents` the documents of the search with the rows. `examine` compares one conversation before a difference is reported; `repair` writes its rows again.

mod digests;
mod documents;
mod examine;
mod full;
mod history;
mod problem;
mod repair;
mod report;
mod sample;
mod sampled;

use archive::Archive;
use domain::{ConversationId, TenantId};
use event_log::Record;
use read_model::ReadModel;
use read_model::projections::conversations::verification::KeyRange;
use read_model::shards;

use self::report::Report;
use self::sample::Sample;
use super::stores::{Stores, check_has_rows_of};
use crate::exit::Exit;
use crate::ids::{self, conversation, tenant};

/// The default maximum of conversations in memory; each needs about a kilobyte.
const CONVERSATIONS_AT_ONCE: usize = 200_000;

/// Compare the rows of the read model with the record.
///
/// Reads the whole record, including archived commits, checks versions, hash chains, heads and commit ids, computes the expected
/// rows, and compares them with the stored rows. Reports the conversation, event and columns of each difference, but no values.
/// Safe on a live system: a difference is reported only if a second comparison confirms it. Daily usage is not compared.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard verify
  hansard verify --sample 5% --seed 42
  hansard verify --sample 1000 --tenant acme --json | jq -c 'select(.kind)'
  hansard verify --tenant acme --conversation c-1 --repair --dry-run
  hansard verify --repair
  hansard verify --digests
  hansard verify --search --repair

Exit code 0: the rows are correct or were repaired; 5: differences remain.")]
pub(crate) struct Args {
    #[command(flatten)]
    stores: Stores,
    /// Only conversations of this tenant.
    #[arg(long, value_parser = tenant)]
    tenant: Option<TenantId>,
    /// Only this conversation of `--tenant`.
    #[arg(long, requires = "tenant", value_parser = conversation)]
    conversation: Option<ConversationId>,
    /// Only a sample of conversations, selected by hash: a count from 1 to 1,000,000, or a share such as 5%.
    #[arg(long, value_name = "COUNT|PERCENT", conflicts_with = "conversation")]
    sample: Option<Sample>,
    /// Seed of the sample: another seed selects other conversations.
    #[arg(long, requires = "sample", default_value_t = 0)]
    seed: u64,
    /// Compare only the position of each conversation, by the digest that the projector maintains per partition.
    #[arg(long, conflicts_with_all = ["tenant", "conversation", "sample"])]
    digests: bool,
    /// Compare only the documents of the search, with the rows of events.
    #[arg(long, conflicts_with_all = ["sample", "digests"])]
    search: bool,
    #[command(flatten)]
    repair: RepairArgs,
    /// Maximum number of conversations in memory; more conversations need several passes over the record.
    #[arg(long, default_value_t = CONVERSATIONS_AT_ONCE, value_name = "COUNT",
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000_000))]
    conversations_at_once: usize,
    /// Print JSON Lines: one per difference, and a summary.
    #[arg(long)]
    json: bool,
}

/// The options of repairs.
#[derive(Debug, clap::Args)]
struct RepairArgs {
    /// Write the rows of each conversation that differs again, if its record has no faults.
    #[arg(long)]
    repair: bool,
    /// Also remove rows that the record does not contain; requires `--repair`.
    ///
    /// They may be the only copy of lost commits: restore the record first, if possible.
    #[arg(long, requires = "repair")]
    remove_unfounded: bool,
    /// Print what would be repaired, and change nothing; requires `--repair`.
    #[arg(long, requires = "repair")]
    dry_run: bool,
}

/// The stores that are compared, and how differences are repaired.
struct VerifyJob {
    record: Record,
    /// The archived part of the record.
    archive: Archive,
    model: ReadModel,
    repair: Repair,
}

/// How rows that differ are repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repair {
    /// Not at all.
    No,
    /// Only printed.
    Dry(Unfounded),
    /// Written again.
    Yes(Unfounded),
}

/// What happens to rows that the record does not contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unfounded {
    /// The conversation is not repaired.
    Kept,
    /// They are removed.
    Removed,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let range = KeyRange::new(args.tenant.as_ref());
    let names = args.tenant.as_ref().zip(args.conversation.as_ref());
    let key = names.map(|(tenant, conversation)| ids::key(tenant, conversation));
    let archive = args.stores.open_archive("hansard-verify").await?;
    let model = args.stores.read_model.open_for_long_statements()?;
    model.check().await?;
    if let Some(tenant) = &args.tenant {
        check_has_rows_of(&model, tenant).await?;
    }
    let job = VerifyJob {
        record: archive.record().clone(),
        archive: archive.of_tenants(shards::tenants(&model).await?),
        model,
        repair: repair(&args.repair),
    };
    if !args.digests {
        // Archived commits are part of the record; without them every comparison fails.
        job.archive.check_reachable().await?;
    }
    let mut report = Report::start(args.json);
    match (&key, args.sample) {
        (only, _) if args.search => {
            documents::run(&job, &range, only.as_ref(), &mut report).await?;
        }
        _ if args.digests => digests::run(&job, &mut report).await?,
        (Some(key), _) => sampled::verify_conversation(&job, key, &mut report).await?,
        (None, Some(sample)) => {
            sampled::run(&job, &range, sample.with_seed(args.seed), &mut report).await?;
        }
        (None, None) => {
            full::run(&job, &range, args.conversations_at_once, &mut report).await?;
        }
    }
    report.end()
}

fn repair(args: &RepairArgs) -> Repair {
    let unfounded = if args.remove_unfounded { Unfounded::Removed } else { Unfounded::Kept };
    match (args.repair, args.dry_run) {
        (false, _) => Repair::No,
        (true, true) => Repair::Dry(unfounded),
        (true, false) => Repair::Yes(unfounded),
    }
}
