//! `hansard import`: imports conversations from files through the write service.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::address::WriterAddress;
use crate::client::AppendStream;
use crate::console;
use crate::exit::{Exit, UsageError};
use crate::import::plan::Destination;
use crate::import::run::{self, Step, Summary};
use crate::import::source::{self, Format, Source};
use crate::progress::{Length, Progress, grouped, per_second};

/// The argument, and the name, of the data set that is downloaded.
const CHITCHAT: &str = "chitchat";
/// The argument for standard input.
const STANDARD_INPUT: &str = "-";
/// The maximum number of commands in flight.
const COMMANDS_IN_FLIGHT: usize = 256;

/// Import conversations. A repeated import changes nothing.
///
/// Needs a service token with the scope `append`.
///
/// Reads JSON Lines in OpenAI's form, one `{"messages": [...]}` per line, with optional `id`, `user` or `session`, `title`,
/// `metadata` and `created_at`; or the chitchat data set. Conversation ids are computed from agent, data set and the
/// conversation's own id (else its line number), so that the same import can be repeated, for example after a failure. A line
/// that is rejected is reported with its number; nothing of it is imported.
///
/// Tool arguments that are not JSON are imported as a JSON string, with a remark. Tool results that are not JSON are imported
/// as text.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard import chats.jsonl --agent support
  zcat chats.jsonl.gz | hansard import - --dataset chats --agent support
  hansard import chitchat --limit 500 --agent demo --json")]
pub(crate) struct Args {
    /// File, `-` for standard input, or `chitchat` for the data set of that name, which is downloaded.
    source: String,
    /// Agent of the conversations; it determines the tenant.
    #[arg(long, env = "HANSARD_AGENT", hide_env_values = true)]
    agent: String,
    /// Name of the data set, part of every id; by default the name of the file.
    #[arg(long)]
    dataset: Option<String>,
    /// Format of the file; by default `openai`.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Maximum number of lines or conversations to read.
    #[arg(long)]
    limit: Option<u64>,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    address: WriterAddress,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let service = args.address.service()?;
    let source = Source {
        path: path(&args.source).await?,
        format: args.format.unwrap_or_else(|| default_format(&args.source)),
        limit: args.limit,
    };
    let destination =
        Destination { agent: args.agent, dataset: args.dataset.map_or_else(|| file_name(&args.source), Ok)? };
    let stream = AppendStream::to(&service, COMMANDS_IN_FLIGHT);
    let summary = import(source, &stream, &destination).await?;
    if args.json {
        writeln!(console::out(), "{}", serde_json::to_string(&summary)?)?;
    }
    Ok(Exit::SomeRejected.when(summary.refused > 0))
}

/// Imports a source and shows the progress.
pub(crate) async fn import(
    source: Source,
    stream: &AppendStream,
    destination: &Destination,
) -> Result<Summary, run::ImportError> {
    let entry_name = source.format.entry_name();
    let length = progress_length(&source);
    let mut progress = Progress::begin("import", length);
    let mut completed = 0;
    let report = |step: Step<'_>| match step {
        Step::Completed { summary, bytes_read } => {
            completed += 1;
            let is_sized = matches!(length, Length::Bytes(_));
            let position = if is_sized { bytes_read } else { completed };
            progress.advance(position, || summary_text(summary));
        }
        Step::Noted { number, what } => {
            progress.note(&format!("{entry_name} {number}: {what}"));
        }
    };
    let outcome = run::run(source::read(source), stream, destination, report).await;
    match &outcome {
        Ok(summary) => progress.finish(&summary_text(summary)),
        Err(_) => progress.finish("not finished; run the same import again to resume"),
    }
    outcome
}

fn summary_text(summary: &Summary) -> String {
    let mut text = format!(
        "{} conversations, {} messages, {} messages/s",
        grouped(summary.conversations),
        grouped(summary.messages),
        grouped(per_second(summary.messages, summary.seconds)),
    );
    if summary.already_there > 0 {
        text = format!("{text}, {} existed already", grouped(summary.already_there));
    }
    if summary.refused > 0 {
        text = format!("{text}, {} rejected", grouped(summary.refused));
    }
    text
}

fn progress_length(source: &Source) -> Length {
    match (source.limit, &source.path) {
        (Some(limit), _) => Length::Items(limit),
        (None, Some(path)) => std::fs::metadata(path).map_or(Length::Unknown, |metadata| Length::Bytes(metadata.len())),
        (None, None) => Length::Unknown,
    }
}

async fn path(source: &str) -> Result<Option<PathBuf>, devstack::StackError> {
    match source {
        STANDARD_INPUT => Ok(None),
        CHITCHAT => devstack::dataset::chitchat(&console::print_step).await.map(Some),
        file => Ok(Some(PathBuf::from(file))),
    }
}

fn default_format(source: &str) -> Format {
    match source {
        CHITCHAT => Format::Chitchat,
        _ => Format::Openai,
    }
}

fn file_name(source: &str) -> Result<String, UsageError> {
    if source == STANDARD_INPUT {
        let why = "standard input has no name: give --dataset, from which ids are computed";
        return Err(UsageError(why.to_owned()));
    }
    let name = Path::new(source).file_name().map(|name| name.to_string_lossy().into_owned());
    name.ok_or_else(|| UsageError(format!("{source} does not name a file")))
}
