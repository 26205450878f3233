//! `hansard parked retry`: projects the waiting commits of parked conversations again.

use domain::{ConversationId, ConversationKey, Partition, TenantId};
use projector::parked::{self, Outcome};
use serde_json::{Value, json};

use super::{conversation, key, list, tenant};
use crate::commands::stores::{ReadModelAddress, RecordAddress};
use crate::exit::{Exit, UsageError};
use crate::table;

/// Read the waiting commits from the record again and project them.
///
/// Safe while projectors run. Exit code 0: every conversation is projected again; 6: at least one is still parked.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Tenant of the conversation.
    #[arg(value_parser = tenant, requires = "conversation", required_unless_present = "all")]
    tenant: Option<TenantId>,
    /// Id of the conversation.
    #[arg(value_parser = conversation)]
    conversation: Option<ConversationId>,
    /// All parked conversations.
    #[arg(long, conflicts_with = "tenant")]
    all: bool,
    /// Only conversations of this partition, from 0; requires --all.
    #[arg(long, requires = "all")]
    partition: Option<u16>,
    #[command(flatten)]
    record: RecordAddress,
    #[command(flatten)]
    read_model: ReadModelAddress,
    /// Print what would be tried, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON Lines.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let model = args.read_model.open()?;
    let record = args.record.open("hansard-parked").await?;
    let keys: Vec<ConversationKey> = match (&args.tenant, &args.conversation) {
        (Some(tenant), Some(conversation)) => vec![key(tenant, conversation)],
        _ if args.all => {
            let all = list::all(&model, args.partition.map(Partition)).await?;
            all.into_iter().map(|parked| parked.key).collect()
        }
        _ => return Err(UsageError("name a conversation, or give --all".to_owned()).into()),
    };
    let mut results = Vec::with_capacity(keys.len());
    for key in keys {
        let outcome = if args.dry_run { None } else { Some(parked::retry(&record, &model, &key).await?) };
        results.push(RetryResult::of(key, outcome));
    }
    let header = ["TENANT", "CONVERSATION", "OUTCOME", "WHY"];
    table::print_list(&results, args.json.then_some(json_of), header, row)?;
    let is_open = results.iter().any(|result| !result.is_settled);
    Ok(Exit::NeedsOperator.when(is_open))
}

/// The result of a retry, as it is printed.
struct RetryResult {
    key: ConversationKey,
    word: &'static str,
    why: String,
    /// Whether the conversation needs no further action.
    is_settled: bool,
}

impl RetryResult {
    /// The result for an outcome; `None`: only a dry run.
    fn of(key: ConversationKey, outcome: Option<Outcome>) -> Self {
        let (word, why, is_settled) = match outcome {
            None => ("would be tried", String::new(), true),
            Some(Outcome::Freed) => ("freed", String::new(), true),
            Some(Outcome::StillParked(reason)) => ("still parked", reason.to_string(), false),
            Some(Outcome::Lost(position)) => {
                let why = format!(
                    "the record has no message at sequence {}: run `hansard parked drop` to continue without it",
                    position.sequence
                );
                ("still parked", why, false)
            }
            Some(Outcome::NothingWaits) => {
                let why = "it is not parked, or is projected with its next commit: retry after that";
                ("nothing waits", why.to_owned(), true)
            }
            Some(Outcome::Changed) => {
                let why = "another process changed it meanwhile: retry";
                ("changed", why.to_owned(), false)
            }
        };
        Self { key, word, why, is_settled }
    }
}

fn json_of(result: &RetryResult) -> Value {
    json!({
        "tenantId": result.key.tenant.as_str(),
        "conversationId": result.key.conversation.as_str(),
        "outcome": result.word,
        "why": result.why,
    })
}

fn row(result: &RetryResult) -> [String; 4] {
    [result.key.tenant.to_string(), result.key.conversation.to_string(), result.word.to_owned(), result.why.clone()]
}
