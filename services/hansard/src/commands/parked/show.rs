//! `hansard parked show`: one parked conversation and its waiting commits.

use std::io::Write as _;

use domain::{Position, Sequence};
use event_log::StoredMessage;
use read_model::projections::conversations::parking;
use serde_json::{Value, json};

use super::{ConversationArgs, find_parked, json_of};
use crate::commands::stores::{ReadModelAddress, RecordAddress};
use crate::exit::Exit;
use crate::view::when;
use crate::{console, table};

/// The maximum number of printed waiting commits.
const SHOWN_MAX: u32 = 100;

/// Show a parked conversation and its first 100 waiting commits in the record, without message contents.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    conversation: ConversationArgs,
    #[command(flatten)]
    record: RecordAddress,
    #[command(flatten)]
    read_model: ReadModelAddress,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A waiting commit in the record.
enum Waiting {
    /// It can be decoded.
    Commit { id: String, versions: (u64, u64), recorded_at: String, size_bytes: usize },
    /// It cannot be decoded, with the cause.
    Unreadable(String),
    /// The record no longer holds it.
    Gone,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let model = args.read_model.open()?;
    let record = args.record.open("hansard-parked").await?;
    let key = args.conversation.key();
    let parked = find_parked(&model, &key).await?;
    let mut waiting = Vec::new();
    for sequence in parking::waiting(&model, &key, SHOWN_MAX).await? {
        let position = Position { partition: parked.position.partition, sequence };
        let message = record.message_at(position).await?;
        waiting.push((sequence, message.as_ref().map_or(Waiting::Gone, decode)));
    }
    let mut out = console::out();
    if args.json {
        let mut output = json_of(&parked);
        if let Some(fields) = output.as_object_mut() {
            let lines = waiting.iter().map(json_of_waiting).collect();
            fields.insert("waiting".to_owned(), Value::Array(lines));
        }
        writeln!(out, "{output}")?;
        return Ok(Exit::Done);
    }
    writeln!(out, "{:12}{}", "reason", parked.reason)?;
    let (partition, sequence) = (parked.position.partition, parked.position.sequence);
    let failed_at = format!("partition {partition}, sequence {sequence}");
    writeln!(out, "{:12}{failed_at}", "failed at")?;
    writeln!(out, "{:12}{} times", "tried", parked.attempts)?;
    writeln!(out, "{:12}{} commits\n", "waiting", parked.commits)?;
    let header = ["SEQUENCE", "COMMIT", "VERSIONS", "RECORDED", "BYTES"];
    let rows: Vec<_> = waiting.iter().map(row).collect();
    table::write(&mut out, header, &rows)?;
    Ok(Exit::Done)
}

fn decode(message: &StoredMessage) -> Waiting {
    match message.open() {
        Err(error) => Waiting::Unreadable(error.source.to_string()),
        Ok(stored) => {
            let commit = &stored.opened.commit;
            let recorded_at = wire::time::to_proto(commit.head.recorded_at);
            Waiting::Commit {
                id: commit.id.to_string(),
                versions: (commit.first_version.0, commit.head.version.0),
                recorded_at: when::seconds(Some(&recorded_at)),
                size_bytes: message.message.len(),
            }
        }
    }
}

fn row((sequence, waiting): &(Sequence, Waiting)) -> [String; 5] {
    let fault = |text: &str| [&sequence.to_string(), text, "", "", ""].map(str::to_owned);
    match waiting {
        Waiting::Gone => fault("not in the record"),
        Waiting::Unreadable(why) => fault(why),
        Waiting::Commit { id, versions: (first, last), recorded_at, size_bytes } => {
            [sequence.to_string(), id.clone(), format!("{first}..{last}"), recorded_at.clone(), size_bytes.to_string()]
        }
    }
}

fn json_of_waiting((sequence, waiting): &(Sequence, Waiting)) -> Value {
    let sequence = sequence.0;
    match waiting {
        Waiting::Gone => json!({ "sequence": sequence, "gone": true }),
        Waiting::Unreadable(why) => json!({ "sequence": sequence, "unreadable": why }),
        Waiting::Commit { id, versions: (first, last), recorded_at, size_bytes } => json!({
            "sequence": sequence,
            "commitId": id,
            "firstVersion": first,
            "lastVersion": last,
            "recordedAt": recorded_at,
            "sizeBytes": size_bytes,
        }),
    }
}
