//! `hansard verify`: whether the rows are what the record comes to. Reads NATS and Postgres itself, with no service in
//! between.
//!
//! `full` reads all of both and compares digests, `sampled` looks at some conversations. Whatever looks different is
//! judged by `examine`, as of one moment, before anything is said of it; `mend` writes rows anew. `digests` is the
//! quick check: where every conversation stands, and nothing else.

mod digests;
mod examine;
mod full;
mod history;
mod mend;
mod problem;
mod report;
mod sample;
mod sampled;

use archive::Archive;
use domain::{ConversationId, ConversationKey, TenantId};
use event_log::Record;
use read_model::projections::conversations::verification::KeyRange;
use read_model::{ReadModel, ReadModelConfig, TIMEOUT_MS_MAX};

use self::report::Report;
use self::sample::Sample;
use super::stores::{ReadModelAddress, Stores};
use crate::exit::{Exit, UsageError};

/// Most conversations that are kept in memory at a time, unless told otherwise; each takes about a kilobyte.
const CONVERSATIONS_AT_ONCE: usize = 200_000;

/// Compare the rows of the read model with the record that they were made from.
///
/// Reads the record from its beginning, what is archived with it, checks that it is whole (versions, chains, heads, commit ids), works out what the
/// rows must be, and compares each with what it is. Says which conversation, event and columns differ; never a value. Safe
/// while everything runs: what is behind or moves is looked at again before it is told. What usage was counted by day is
/// not compared.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard verify
  hansard verify --sample 5% --seed 42
  hansard verify --sample 1000 --tenant acme --json | jq -c 'select(.kind)'
  hansard verify --tenant acme --conversation c-1 --repair --dry-run
  hansard verify --repair
  hansard verify --digests

Ends with 0 when the rows are whole, or were made so, and with 5 when they are not.")]
pub struct Args {
    #[command(flatten)]
    stores: Stores,
    /// Only this tenant's conversations.
    #[arg(long)]
    tenant: Option<String>,
    /// Only this conversation of `--tenant`.
    #[arg(long, requires = "tenant")]
    conversation: Option<String>,
    /// Only some conversations, chosen by hash: so many, or a share of all, such as 5%.
    #[arg(long, value_name = "COUNT|PERCENT", conflicts_with = "conversation")]
    sample: Option<Sample>,
    /// Which sample: another seed chooses other conversations.
    #[arg(long, requires = "sample", default_value_t = 0)]
    seed: u64,
    /// Compare only where each conversation stands, as the projector keeps it in one digest a partition.
    #[arg(long, conflicts_with_all = ["tenant", "conversation", "sample"])]
    digests: bool,
    #[command(flatten)]
    mending: MendingArgs,
    /// Most conversations to keep in memory; more of them are read in several passes over the record.
    #[arg(long, default_value_t = CONVERSATIONS_AT_ONCE, value_name = "COUNT",
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000_000))]
    conversations_at_once: usize,
    /// Print JSON Lines: one for each difference, and a summary.
    #[arg(long)]
    json: bool,
}

/// What to do about differences.
#[derive(Debug, clap::Args)]
struct MendingArgs {
    /// Write the rows of each conversation that differs anew, from a record that is whole.
    #[arg(long)]
    repair: bool,
    /// With `--repair`: also remove rows of which the record does not know.
    ///
    /// They may be all that is left of what the record has lost: restore the record first, if it can be.
    #[arg(long, requires = "repair")]
    remove_unfounded: bool,
    /// With `--repair`: say what would be written, and change nothing.
    #[arg(long, requires = "repair")]
    dry_run: bool,
}

/// What is verified, and what is done about differences.
struct Ground {
    record: Record,
    /// What of the record is elsewhere.
    archive: Archive,
    model: ReadModel,
    repair: Repair,
}

/// What to do with rows that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repair {
    /// Leave them.
    No,
    /// Say what would be written.
    Dry(Unfounded),
    /// Write them anew.
    Yes(Unfounded),
}

/// What to do with rows of which the record does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unfounded {
    /// Leave the conversation as it is.
    Kept,
    /// Remove them.
    Removed,
}

/// Runs the command.
///
/// # Errors
/// The record or the read models cannot be reached.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let scope = scope(&args)?;
    let archive = args.stores.open_archive("hansard-verify").await?;
    let ground = Ground {
        record: archive.record().clone(),
        archive,
        model: open_model(&args.stores.read_model)?,
        repair: repair(&args.mending),
    };
    ground.model.check().await?;
    if !args.digests {
        // What is elsewhere is of the record too: without it nothing can be judged.
        ground.archive.check_reachable().await?;
    }
    let mut report = Report::begin(args.json);
    match (&scope, args.sample) {
        _ if args.digests => digests::run(&ground, &mut report).await?,
        (Scope::Conversation(key), _) => sampled::one(&ground, key, &mut report).await?,
        (Scope::Range(range), Some(sample)) => {
            sampled::run(&ground, range, sample.with_seed(args.seed), &mut report).await?;
        }
        (Scope::Range(range), None) => {
            full::run(&ground, range, args.conversations_at_once, &mut report).await?;
        }
    }
    report.end()
}

/// Which conversations are meant.
enum Scope {
    Range(KeyRange),
    Conversation(ConversationKey),
}

fn scope(args: &Args) -> Result<Scope, UsageError> {
    let wrong = |what: &str, why: &str| UsageError(format!("the {what} {why}"));
    let Some(tenant) = &args.tenant else {
        return Ok(Scope::Range(KeyRange::of(None)));
    };
    let tenant = TenantId::parse(tenant.as_str())
        .map_err(|violation| wrong("tenant", &violation.description))?;
    let Some(conversation) = &args.conversation else {
        return Ok(Scope::Range(KeyRange::of(Some(&tenant))));
    };
    let conversation = ConversationId::parse(conversation.as_str())
        .map_err(|violation| wrong("conversation", &violation.description))?;
    Ok(Scope::Conversation(ConversationKey {
        tenant,
        conversation,
    }))
}

fn repair(args: &MendingArgs) -> Repair {
    let unfounded = if args.remove_unfounded {
        Unfounded::Removed
    } else {
        Unfounded::Kept
    };
    match (args.repair, args.dry_run) {
        (false, _) => Repair::No,
        (true, true) => Repair::Dry(unfounded),
        (true, false) => Repair::Yes(unfounded),
    }
}

/// With all the time that a statement may have: some of them read every conversation's row.
fn open_model(address: &ReadModelAddress) -> anyhow::Result<ReadModel> {
    Ok(ReadModel::connect_lazy(&ReadModelConfig {
        statement_timeout_ms: TIMEOUT_MS_MAX,
        ..ReadModelConfig::new(address.database_url.clone())
    })?)
}
