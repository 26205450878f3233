//! `hansard replay`: a part of the record, once more: into a file, or under another subject.

mod target;
mod to_file;
mod to_subject;

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use archive::Archive;
use event_log::ReplayPrefix;
use futures::stream::StreamExt as _;
use runtime::pace::Pace;
use serde_json::json;

use super::stores::{ArchiveAddress, RecordAddress};
use crate::exit::{Exit, UsageError};
use crate::progress::{Length, Progress, grouped, per_second};
use crate::selection::{Places, Reach, Selection, Span, messages};
use crate::{console, table};
use target::{Begun, Target};

/// Give a part of the record out once more: to a file, or under another subject.
///
/// A file gets a line of JSON a commit, as `hansard tail` prints it: message contents are in it. A subject gets each commit as
/// the record holds it, under PREFIX.PARTITION.TENANT.CONVERSATION; where a stream keeps those subjects, it acknowledges each.
/// What was stopped, in any way, goes on with --resume. To fill read models from the record again, see `hansard rebuild`.
#[derive(Debug, clap::Args)]
#[command(
    group(clap::ArgGroup::new("target").required(true)),
    after_help = "\
Examples:
  hansard replay --to-file all.jsonl
  hansard replay --to-file all.jsonl --resume
  hansard replay --tenant acme --since 2026-09-01T00:00:00Z --to-file acme.jsonl --rate 5000
  hansard replay --to-subject copy --places copy.places --rate 2000
  hansard replay --to-subject copy --places copy.places --resume"
)]
pub struct Args {
    #[command(flatten)]
    record: RecordAddress,
    #[command(flatten)]
    archive: ArchiveAddress,
    #[command(flatten)]
    selection: Selection,
    /// A new file for the commits.
    #[arg(long, value_name = "FILE", group = "target")]
    to_file: Option<PathBuf>,
    /// What the new subjects begin with; none that the record itself uses.
    #[arg(long, value_name = "PREFIX", group = "target")]
    to_subject: Option<String>,
    /// The file where `--to-subject` writes down how far it is, every second.
    #[arg(
        long,
        value_name = "FILE",
        requires = "to_subject",
        conflicts_with = "to_file"
    )]
    places: Option<PathBuf>,
    /// Go on where the file, or the file of places, ends; also with what came since.
    #[arg(long)]
    resume: bool,
    /// Most commits a second; 1,000 with `--to-subject`, as many as can be with `--to-file`, unless given.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(target::RATE_MAX)))]
    rate: Option<u32>,
    /// Say what would be read, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// The record cannot be reached or holds a message that is no commit, or the target takes nothing.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let prefix = prefix(&args)?;
    let record = args.record.open("hansard-replay").await?;
    let begun = Begun::of(&args, &record, prefix).await?;
    let places = begun.places();
    let spans = args.selection.spans(&record, &places).await?;
    if args.dry_run {
        return plan(&spans, &args);
    }
    let archive = args.archive.of(&record);
    let mut target = begun.open(&args, &record).await?;
    let copied = copy(&args, &archive, &places, &spans, &mut target).await?;
    if args.json {
        let told = json!({
            "commits": copied.commits,
            "bytes": copied.bytes,
            "seconds": copied.seconds,
            "stream": target.stream(),
        });
        writeln!(console::out(), "{told}")?;
    }
    Ok(Exit::Done)
}

fn prefix(args: &Args) -> Result<Option<ReplayPrefix>, UsageError> {
    if args.resume && args.to_subject.is_some() && args.places.is_none() {
        let why = "--resume needs the file of --places";
        return Err(UsageError(why.to_owned()));
    }
    let prefix = args.to_subject.as_deref().map(ReplayPrefix::parse);
    prefix
        .transpose()
        .map_err(|error| UsageError(error.to_string()))
}

/// What was replayed.
struct Copied {
    commits: u64,
    bytes: u64,
    seconds: f64,
}

impl Copied {
    fn told(&self) -> String {
        let rate = grouped(per_second(self.commits, self.seconds));
        format!("{} commits, {rate} commits/s", grouped(self.commits))
    }
}

async fn copy(
    args: &Args,
    archive: &Archive,
    places: &Places,
    spans: &[Span],
    target: &mut Target,
) -> anyhow::Result<Copied> {
    let pace = Pace::new(args.rate.or(target.rate_default()));
    let length = if args.selection.is_partial() {
        Length::Unknown
    } else {
        Length::Items(spans.iter().map(Span::sequences).sum())
    };
    let mut progress = Progress::begin("replay", length);
    if let Some(told) = target.told() {
        progress.note(&told);
    }
    let began = Instant::now();
    let mut copied = Copied {
        commits: 0,
        bytes: 0,
        seconds: 0.0,
    };
    let mut messages = messages(archive, &args.selection, places, Reach::Present).await?;
    while let Some(chosen) = messages.next().await {
        let chosen = chosen?;
        pace.wait(1).await;
        target.take(&chosen).await?;
        copied.commits += 1;
        let bytes = u64::try_from(chosen.message.message.len()).unwrap_or(u64::MAX);
        copied.bytes = copied.bytes.saturating_add(bytes);
        copied.seconds = began.elapsed().as_secs_f64();
        progress.advance(copied.commits, || copied.told());
    }
    target.finish().await?;
    copied.seconds = began.elapsed().as_secs_f64();
    progress.finish(&copied.told());
    Ok(copied)
}

fn plan(spans: &[Span], args: &Args) -> anyhow::Result<Exit> {
    let mut out = console::out();
    if args.json {
        for span in spans {
            let told = json!({
                "partition": span.partition.0,
                "after": span.after.0,
                "through": span.through.0,
            });
            writeln!(out, "{told}")?;
        }
        return Ok(Exit::Done);
    }
    let rows: Vec<[String; 4]> = spans
        .iter()
        .map(|span| {
            [
                span.partition.to_string(),
                span.after.to_string(),
                span.through.to_string(),
                grouped(span.sequences()),
            ]
        })
        .collect();
    let header = ["PARTITION", "AFTER", "THROUGH", "SEQUENCES"];
    table::write(&mut out, header, &rows)?;
    let what = if args.selection.is_partial() {
        "nothing was done; what is chosen of this"
    } else {
        "nothing was done; this"
    };
    writeln!(out, "{what} would be replayed")?;
    Ok(Exit::Done)
}
