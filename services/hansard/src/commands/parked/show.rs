//! `hansard parked show`: one parked conversation, and the commits that wait in it.

use std::io::Write as _;

use domain::{Position, Sequence};
use event_log::StoredMessage;
use read_model::projections::conversations::parking;
use serde_json::{Value, json};

use super::{Which, json_of, not_parked};
use crate::commands::stores::{ReadModelAddress, RecordAddress};
use crate::exit::Exit;
use crate::view::when;
use crate::{console, table};

/// Most waiting commits that are shown.
const SHOWN_MAX: u32 = 100;

/// Show a parked conversation, and its first 100 waiting commits as the record holds them; no message contents.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    record: RecordAddress,
    #[command(flatten)]
    read_model: ReadModelAddress,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A commit that waits, as the record holds it now.
enum Waiting {
    /// It can be opened.
    Commit {
        id: String,
        versions: (u64, u64),
        recorded_at: String,
        size_bytes: usize,
    },
    /// It is no commit; why.
    Unreadable(String),
    /// It is gone.
    Gone,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let model = args.read_model.open()?;
    let record = args.record.open("hansard-parked").await?;
    let key = args.which.key();
    let parked = parking::find(&model, &key).await?;
    let parked = parked.ok_or_else(|| not_parked(&args.which))?;
    let mut waiting = Vec::new();
    for sequence in parking::waiting(&model, &key, SHOWN_MAX).await? {
        let position = Position {
            partition: parked.position.partition,
            sequence,
        };
        let message = record.message_at(position).await?;
        waiting.push((sequence, message.as_ref().map_or(Waiting::Gone, of_message)));
    }
    let mut out = console::out();
    if args.json {
        let mut told = json_of(&parked);
        if let Some(told) = told.as_object_mut() {
            let lines = waiting.iter().map(json_of_waiting).collect();
            told.insert("waiting".to_owned(), Value::Array(lines));
        }
        writeln!(out, "{told}")?;
        return Ok(Exit::Done);
    }
    writeln!(out, "{:12}{}", "reason", parked.reason)?;
    let (partition, sequence) = (parked.position.partition, parked.position.sequence);
    writeln!(
        out,
        "{:12}partition {partition}, sequence {sequence}",
        "failed at"
    )?;
    writeln!(out, "{:12}{} times", "tried", parked.attempts)?;
    writeln!(out, "{:12}{} commits\n", "waiting", parked.commits)?;
    let header = ["SEQUENCE", "COMMIT", "VERSIONS", "RECORDED", "BYTES"];
    let rows: Vec<_> = waiting.iter().map(row).collect();
    table::write(&mut out, header, &rows)?;
    Ok(Exit::Done)
}

fn of_message(message: &StoredMessage) -> Waiting {
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
    let told = |what: String| {
        [
            sequence.to_string(),
            what,
            String::new(),
            String::new(),
            String::new(),
        ]
    };
    match waiting {
        Waiting::Gone => told("the record does not hold it".to_owned()),
        Waiting::Unreadable(why) => told(why.clone()),
        Waiting::Commit {
            id,
            versions: (first, last),
            recorded_at,
            size_bytes,
        } => [
            sequence.to_string(),
            id.clone(),
            format!("{first}..{last}"),
            recorded_at.clone(),
            size_bytes.to_string(),
        ],
    }
}

fn json_of_waiting((sequence, waiting): &(Sequence, Waiting)) -> Value {
    let sequence = sequence.0;
    match waiting {
        Waiting::Gone => json!({ "sequence": sequence, "gone": true }),
        Waiting::Unreadable(why) => json!({ "sequence": sequence, "unreadable": why }),
        Waiting::Commit {
            id,
            versions: (first, last),
            recorded_at,
            size_bytes,
        } => json!({
            "sequence": sequence,
            "commitId": id,
            "firstVersion": first,
            "lastVersion": last,
            "recordedAt": recorded_at,
            "sizeBytes": size_bytes,
        }),
    }
}
