//! `hansard tail`: the record as it is, commit by commit. Reads NATS itself, with no service in between.

use std::io::Write as _;

use domain::{ConversationId, ConversationKey, Partition, Sequence, TenantId};
use event_log::{Record, StoredMessage, TailBounds};
use futures::stream::{SelectAll, StreamExt as _};
use prost::Message as _;
use serde_json::{Value, json};
use wire::proto::event::v1 as proto;

use super::stores::RecordAddress;
use crate::console;
use crate::exit::{Exit, UsageError};
use crate::view::json as view;

/// Print commits of the record as JSON Lines, oldest first.
///
/// Each line has a commit's place, envelope and events. Prints what one partition or conversation holds, or all partitions at once, in which case the order is that of
/// each partition. Message contents are shown: mind who reads along.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard tail --partition 3 --after 1000 | head
  hansard tail --tenant acme --conversation c-1 | jq .events
  hansard tail --follow | jq -r '[.partition, .sequence, .envelope.conversationId] | @tsv'")]
pub struct Args {
    #[command(flatten)]
    record: RecordAddress,
    /// Only this partition, from 0.
    #[arg(long, conflicts_with = "conversation")]
    partition: Option<u16>,
    /// Only this conversation of `--tenant`.
    #[arg(long, requires = "tenant")]
    conversation: Option<String>,
    /// The conversation's tenant.
    #[arg(long, requires = "conversation")]
    tenant: Option<String>,
    /// Only what comes after this sequence.
    #[arg(long, default_value_t = 0)]
    after: u64,
    /// Go on with what comes, until interrupted.
    #[arg(long, conflicts_with = "conversation")]
    follow: bool,
}

/// Runs the command.
///
/// # Errors
/// The record cannot be reached or holds a message that is no commit.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let record = args.record.open("hansard-tail").await?;
    match key(&args)? {
        Some(key) => conversation(&record, &key, Sequence(args.after)).await?,
        None => partitions(&record, &args).await?,
    }
    Ok(Exit::Done)
}

fn key(args: &Args) -> Result<Option<ConversationKey>, UsageError> {
    let (Some(tenant), Some(conversation)) = (&args.tenant, &args.conversation) else {
        return Ok(None);
    };
    let wrong = |what: &str, why: &str| UsageError(format!("the {what} {why}"));
    Ok(Some(ConversationKey {
        tenant: TenantId::parse(tenant.as_str())
            .map_err(|violation| wrong("tenant", &violation.description))?,
        conversation: ConversationId::parse(conversation.as_str())
            .map_err(|violation| wrong("conversation", &violation.description))?,
    }))
}

async fn conversation(
    record: &Record,
    key: &ConversationKey,
    after: Sequence,
) -> anyhow::Result<()> {
    let mut next = Some(after);
    while let Some(after) = next {
        let tail = record.tail(key, after, TailBounds::default()).await?;
        for message in &tail.commits {
            print(message)?;
        }
        next = tail.resume_after;
    }
    Ok(())
}

async fn partitions(record: &Record, args: &Args) -> anyhow::Result<()> {
    let chosen = match args.partition {
        Some(partition) if partition >= record.partitions() => {
            let count = record.partitions();
            return Err(UsageError(format!("the record has {count} partitions, from 0")).into());
        }
        Some(partition) => partition..partition + 1,
        None => 0..record.partitions(),
    };
    let mut messages = SelectAll::new();
    for partition in chosen.map(Partition) {
        let last = record.bounds_of(partition).await?.last;
        if args.follow || last > Sequence(args.after) {
            let end = (!args.follow).then_some(last);
            messages.push(until(record, partition, Sequence(args.after), end));
        }
    }
    while let Some(message) = messages.next().await {
        print(&message)?;
    }
    Ok(())
}

type Messages = futures::stream::BoxStream<'static, StoredMessage>;

/// A partition's messages up to `end`, and past it when there is none. The message at the end may be gone by now, so
/// the last one that there is ends it too.
fn until(
    record: &Record,
    partition: Partition,
    after: Sequence,
    end: Option<Sequence>,
) -> Messages {
    let followed = record.follow(partition, after);
    futures::stream::unfold((followed, false), move |(mut followed, over)| async move {
        if over {
            return None;
        }
        loop {
            match followed.next().await? {
                Ok(next) => {
                    let sequence = next.message.position.sequence;
                    let over = end.is_some_and(|end| sequence >= end || next.pending == 0);
                    return Some((next.message, (followed, over)));
                }
                // It goes on by itself once the server is back.
                Err(unavailable) => console::complain(&unavailable.to_string()),
            }
        }
    })
    .boxed()
}

fn print(message: &StoredMessage) -> anyhow::Result<()> {
    writeln!(console::out(), "{}", describe(message)?)?;
    Ok(())
}

fn describe(message: &StoredMessage) -> anyhow::Result<Value> {
    let opened = message.open()?.opened;
    let envelope = proto::Commit::decode(message.message.clone())?
        .envelope
        .unwrap_or_default();
    let body = proto::Body::decode(opened.body)?;
    let events = body
        .events
        .iter()
        .map(|event| view::of("hansard.event.v1.Event", event));
    Ok(json!({
        "partition": message.position.partition.0,
        "sequence": message.position.sequence.0,
        "commitId": opened.commit.id.to_string(),
        "envelope": view::of("hansard.event.v1.Envelope", &envelope)?,
        "events": events.collect::<anyhow::Result<Vec<Value>>>()?,
    }))
}
