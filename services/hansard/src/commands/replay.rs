//! `hansard replay`: copies commits of the record to a file or to other subjects.

mod target;
mod to_file;
mod to_subject;

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use archive::Archive;
use event_log::ReplayPrefix;
use futures::stream::StreamExt as _;
use runtime::rate_limiter::RateLimiter;
use serde_json::json;

use super::stores::{ArchiveAddress, RecordAddress};
use crate::exit::{Exit, UsageError};
use crate::progress::{Length, Progress, grouped, per_second};
use crate::selection::{Positions, ReadUntil, Selection, SequenceRange, messages};
use crate::{console, table};
use target::{ResumePoint, Target};
use to_subject::SubjectTarget;

/// Copy commits of the record to a file or to other subjects.
///
/// A file gets one line of JSON per commit, as `hansard tail` prints it, with message contents. With --to-subject, each commit
/// is published unchanged to PREFIX.PARTITION.TENANT.CONVERSATION; a stream with these subjects acknowledges each. After an
/// interruption, continue with --resume. To fill read models from the record again, use `hansard rebuild`.
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
pub(crate) struct Args {
    #[command(flatten)]
    record: RecordAddress,
    #[command(flatten)]
    archive: ArchiveAddress,
    #[command(flatten)]
    selection: Selection,
    /// New file for the commits.
    #[arg(long, value_name = "FILE", group = "target")]
    to_file: Option<PathBuf>,
    /// Prefix of the target subjects; the prefixes of the record are rejected.
    #[arg(long, value_name = "PREFIX", group = "target")]
    to_subject: Option<String>,
    /// File in which `--to-subject` saves the replayed positions every second.
    #[arg(long, value_name = "FILE", requires = "to_subject")]
    #[arg(conflicts_with = "to_file")]
    places: Option<PathBuf>,
    /// Continue after the last commit in the file of --to-file or --places, up to the current end of the record.
    #[arg(long)]
    resume: bool,
    /// Maximum commits per second, 1 to 100,000; by default 1,000 with `--to-subject`, unlimited with `--to-file`.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(target::RATE_MAX)))]
    rate: Option<u32>,
    /// Print what would be read, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let prefix = prefix(&args)?;
    let record = args.record.open("hansard-replay").await?;
    let resume_point = ResumePoint::from_args(&args, &record, prefix).await?;
    let positions = resume_point.positions();
    let archive = args.archive.of(&record);
    let ranges = args.selection.ranges(&archive, &positions).await?;
    if args.dry_run {
        return print_plan(&ranges, &args);
    }
    let mut target = resume_point.open(&args, &record).await?;
    let copied = copy(&args, &archive, &positions, &ranges, &mut target).await?;
    if args.json {
        let output = json!({
            "commits": copied.commits,
            "bytes": copied.bytes,
            "seconds": copied.seconds,
            "stream": target.subject().and_then(SubjectTarget::stream),
        });
        writeln!(console::out(), "{output}")?;
    }
    Ok(Exit::Done)
}

fn prefix(args: &Args) -> Result<Option<ReplayPrefix>, UsageError> {
    if args.resume && args.to_subject.is_some() && args.places.is_none() {
        let why = "--resume with --to-subject requires --places FILE";
        return Err(UsageError(why.to_owned()));
    }
    args.to_subject.as_deref().map(ReplayPrefix::parse).transpose().map_err(|error| UsageError(error.to_string()))
}

/// The counts of a replay.
#[derive(Default)]
struct Copied {
    commits: u64,
    bytes: u64,
    seconds: f64,
}

impl Copied {
    fn summary(&self) -> String {
        let rate = grouped(per_second(self.commits, self.seconds));
        format!("{} commits, {rate} commits/s", grouped(self.commits))
    }
}

async fn copy(
    args: &Args,
    archive: &Archive,
    positions: &Positions,
    ranges: &[SequenceRange],
    target: &mut Target,
) -> anyhow::Result<Copied> {
    let subject = target.subject();
    let pace = RateLimiter::new(args.rate.or(subject.map(|_| target::RATE_DEFAULT)));
    let length = if args.selection.is_partial() {
        Length::Unknown
    } else {
        Length::Items(ranges.iter().map(SequenceRange::sequences).sum())
    };
    let mut progress = Progress::begin("replay", length);
    if let Some(subject) = subject {
        progress.note(&subject.note());
    }
    let started = Instant::now();
    let mut copied = Copied::default();
    let mut messages = messages(archive, &args.selection, positions, ReadUntil::Now).await?;
    while let Some(selected) = messages.next().await {
        let selected = selected?;
        pace.wait(1).await;
        target.write(&selected).await?;
        copied.commits += 1;
        let bytes = u64::try_from(selected.message.message.len()).unwrap_or(u64::MAX);
        copied.bytes = copied.bytes.saturating_add(bytes);
        copied.seconds = started.elapsed().as_secs_f64();
        progress.advance(copied.commits, || copied.summary());
    }
    target.finish().await?;
    copied.seconds = started.elapsed().as_secs_f64();
    progress.finish(&copied.summary());
    Ok(copied)
}

fn print_plan(ranges: &[SequenceRange], args: &Args) -> anyhow::Result<Exit> {
    let object = |range: &SequenceRange| {
        let (partition, after, through) = (range.partition.0, range.after.0, range.through.0);
        json!({"partition": partition, "after": after, "through": through})
    };
    let row = |range: &SequenceRange| {
        [range.partition.to_string(), range.after.to_string(), range.through.to_string(), grouped(range.sequences())]
    };
    let header = ["PARTITION", "AFTER", "THROUGH", "SEQUENCES"];
    table::print_list(ranges, args.json.then_some(object), header, row)?;
    if !args.json {
        let is_partial = args.selection.is_partial();
        let selected = is_partial.then_some("the selected commits of ");
        let what = format!("{}these sequences", selected.unwrap_or_default());
        writeln!(console::out(), "dry run: {what} would be replayed")?;
    }
    Ok(Exit::Done)
}
