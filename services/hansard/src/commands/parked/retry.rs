//! `hansard parked retry`: projects the waiting commits of parked conversations again.

use std::io::Write as _;

use domain::{ConversationId, ConversationKey, Partition, TenantId};
use projector::parked::{self, Outcome};
use serde_json::json;

use super::{conversation, list, tenant};
use crate::commands::stores::{ReadModelAddress, RecordAddress};
use crate::exit::{Exit, UsageError};
use crate::{console, table};

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
        (Some(tenant), Some(conversation)) => vec![ConversationKey {
            tenant: tenant.clone(),
            conversation: conversation.clone(),
        }],
        _ if args.all => {
            let all = list::all(&model, args.partition.map(Partition)).await?;
            all.into_iter().map(|parked| parked.key).collect()
        }
        _ => return Err(UsageError("name a conversation, or give --all".to_owned()).into()),
    };
    let mut results = Vec::with_capacity(keys.len());
    for key in keys {
        let result = if args.dry_run {
            RetryResult {
                word: "would be tried",
                why: String::new(),
                is_settled: true,
            }
        } else {
            result_of(parked::retry(&record, &model, &key).await?)
        };
        results.push((key, result));
    }
    print(&results, &args)?;
    let is_settled = results.iter().all(|(_, result)| result.is_settled);
    Ok(if is_settled {
        Exit::Done
    } else {
        Exit::NeedsOperator
    })
}

/// The result of a retry, as it is printed.
struct RetryResult {
    word: &'static str,
    why: String,
    /// Whether the conversation needs no further action.
    is_settled: bool,
}

fn result_of(outcome: Outcome) -> RetryResult {
    let (word, why, is_settled) = match outcome {
        Outcome::Freed => ("freed", String::new(), true),
        Outcome::StillParked(reason) => ("still parked", reason.to_string(), false),
        Outcome::Lost(position) => {
            let why = format!(
                "the record has no message at sequence {}: run `hansard parked drop` to continue without it",
                position.sequence
            );
            ("still parked", why, false)
        }
        Outcome::NothingWaits => (
            "nothing waits",
            "it is not parked, or is projected with its next commit: retry after that".to_owned(),
            true,
        ),
        Outcome::Changed => (
            "changed",
            "another process changed it meanwhile: retry".to_owned(),
            false,
        ),
    };
    RetryResult {
        word,
        why,
        is_settled,
    }
}

fn print(results: &[(ConversationKey, RetryResult)], args: &Args) -> anyhow::Result<()> {
    let mut out = console::out();
    if args.json {
        for (key, result) in results {
            let line = json!({
                "tenantId": key.tenant.as_str(),
                "conversationId": key.conversation.as_str(),
                "outcome": result.word,
                "why": result.why,
            });
            writeln!(out, "{line}")?;
        }
        return Ok(());
    }
    let rows: Vec<_> = results
        .iter()
        .map(|(key, result)| {
            [
                key.tenant.to_string(),
                key.conversation.to_string(),
                result.word.to_owned(),
                result.why.clone(),
            ]
        })
        .collect();
    table::write(
        &mut out,
        ["TENANT", "CONVERSATION", "OUTCOME", "WHY"],
        &rows,
    )?;
    Ok(())
}
