//! `hansard parked retry`.

use std::io::Write as _;

use domain::{ConversationId, ConversationKey, Partition, TenantId};
use projector::parked::{self, Outcome};
use serde_json::json;

use super::{conversation, list, tenant};
use crate::commands::stores::{ReadModelAddress, RecordAddress};
use crate::exit::{Exit, UsageError};
use crate::{console, table};

/// Read what waits from the record again, and project it.
///
/// Safe while projectors work. Exit code 0: all that was tried goes on; 6: something is still parked.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The conversation's tenant.
    #[arg(value_parser = tenant, requires = "conversation", required_unless_present = "all")]
    tenant: Option<TenantId>,
    /// The conversation.
    #[arg(value_parser = conversation)]
    conversation: Option<ConversationId>,
    /// Every parked conversation.
    #[arg(long, conflicts_with = "tenant")]
    all: bool,
    /// With --all: only those of this partition, from 0.
    #[arg(long, requires = "all")]
    partition: Option<u16>,
    #[command(flatten)]
    record: RecordAddress,
    #[command(flatten)]
    read_model: ReadModelAddress,
    /// Say what would be tried, and try nothing.
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
    let mut told = Vec::with_capacity(keys.len());
    for key in keys {
        let fate = if args.dry_run {
            Fate {
                word: "would be tried",
                why: String::new(),
                is_settled: true,
            }
        } else {
            fate(parked::retry(&record, &model, &key).await?)
        };
        told.push((key, fate));
    }
    print(&told, &args)?;
    let is_settled = told.iter().all(|(_, fate)| fate.is_settled);
    Ok(if is_settled {
        Exit::Done
    } else {
        Exit::NeedsOperator
    })
}

/// What became of a conversation, in words.
struct Fate {
    word: &'static str,
    why: String,
    /// Whether nothing is left to do.
    is_settled: bool,
}

fn fate(outcome: Outcome) -> Fate {
    let (word, why, is_settled) = match outcome {
        Outcome::Freed => ("freed", String::new(), true),
        Outcome::StillParked(reason) => ("still parked", reason.to_string(), false),
        Outcome::Lost(position) => {
            let why = format!(
                "the record holds nothing at sequence {}: drop it to go on without",
                position.sequence
            );
            ("still parked", why, false)
        }
        Outcome::NothingWaits => (
            "nothing waits",
            "it is not parked, or goes on with its next commit: try again then".to_owned(),
            true,
        ),
        Outcome::Changed => (
            "changed",
            "somebody else was at it: look again".to_owned(),
            false,
        ),
    };
    Fate {
        word,
        why,
        is_settled,
    }
}

fn print(told: &[(ConversationKey, Fate)], args: &Args) -> anyhow::Result<()> {
    let mut out = console::out();
    if args.json {
        for (key, fate) in told {
            let line = json!({
                "tenantId": key.tenant.as_str(),
                "conversationId": key.conversation.as_str(),
                "outcome": fate.word,
                "why": fate.why,
            });
            writeln!(out, "{line}")?;
        }
        return Ok(());
    }
    let rows: Vec<_> = told
        .iter()
        .map(|(key, fate)| {
            [
                key.tenant.to_string(),
                key.conversation.to_string(),
                fate.word.to_owned(),
                fate.why.clone(),
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
