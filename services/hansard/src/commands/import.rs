//! `hansard import`: conversations from elsewhere, through the write service.

use std::io::Write as _;
use std::path::PathBuf;

use devstack::Step as StackStep;

use super::address::WriterAddress;
use crate::client::{AppendStream, WINDOW_MAX};
use crate::console;
use crate::exit::{Exit, UsageError};
use crate::import::plan::Destination;
use crate::import::run::{self, Step, Summary};
use crate::import::source::{self, Format, Source};
use crate::progress::{Length, Progress, grouped, per_second};

/// The word, and the name, of the data set that is fetched.
const CHITCHAT: &str = "chitchat";
/// The word for standard input.
const STANDARD_INPUT: &str = "-";
/// Commands on their way at once, unless asked otherwise.
const WINDOW_DEFAULT: u16 = 256;

/// Import conversations; importing twice changes nothing.
///
/// Needs a service token with the scope `append`.
///
/// Reads JSON Lines as OpenAI writes them, one `{"messages": [...]}` a line, with optional `id`, `user` or
/// `session`, `title`, `metadata` and `created_at`, or the chitchat data set. Ids follow from agent, data set
/// and the conversation's own id (else its line's number), so that the same import can be run again, after a
/// failure for one. A line that cannot be kept is reported with its number and leaves nothing behind.
///
/// Tool arguments that are no JSON are kept as a JSON string, and reported; a tool's result that is no JSON is
/// kept as a text.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard import chats.jsonl --agent support
  zcat chats.jsonl.gz | hansard import - --dataset chats --agent support
  hansard import chitchat --limit 500 --agent demo --json")]
pub struct Args {
    /// A file, `-` for standard input, or `chitchat` for the data set of that name, which is fetched.
    source: String,
    /// The agent that the conversations are with; it names the tenant.
    #[arg(long, env = "HANSARD_AGENT", hide_env_values = true)]
    agent: String,
    /// The data set's name, part of every id; the file's name when left out.
    #[arg(long)]
    dataset: Option<String>,
    /// How the file is written; a file is `openai` when left out.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Most lines, or conversations, to read.
    #[arg(long)]
    limit: Option<u64>,
    /// Most commands that wait for their answers at once.
    #[arg(long, default_value_t = WINDOW_DEFAULT, value_parser = clap::value_parser!(u16).range(1..=4_096))]
    window: u16,
    /// Print what it came to as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    address: WriterAddress,
}

const _: () = assert!(WINDOW_MAX == 4_096, "the bound of --window");

/// Runs the command.
///
/// # Errors
/// The source cannot be read, or the write service takes nothing.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let service = args.address.service()?;
    let source = Source {
        path: path(&args.source).await?,
        format: args.format.unwrap_or_else(|| format_of(&args.source)),
        limit: args.limit,
    };
    let dataset = args
        .dataset
        .clone()
        .map_or_else(|| name_of(&args.source), Ok)?;
    let destination = Destination {
        agent: args.agent.clone(),
        dataset,
    };
    let stream = AppendStream::to(&service, usize::from(args.window));
    let summary = import(source, &stream, &destination).await?;
    if args.json {
        writeln!(console::out(), "{}", serde_json::to_string(&summary)?)?;
    }
    Ok(if summary.refused > 0 {
        Exit::SomeRefused
    } else {
        Exit::Done
    })
}

/// Imports a source, and shows how far it is.
///
/// # Errors
/// As [`run::run`].
pub async fn import(
    source: Source,
    stream: &AppendStream,
    destination: &Destination,
) -> Result<Summary, run::ImportError> {
    let entry_name = source.format.entry_name();
    let length = length_of(&source);
    let mut progress = Progress::begin("import", length);
    let mut settled = 0;
    let outcome = run::run(
        source::read(source),
        stream,
        destination,
        |step| match step {
            Step::Settled {
                summary,
                bytes_read,
            } => {
                settled += 1;
                let position = if matches!(length, Length::Bytes(_)) {
                    bytes_read
                } else {
                    settled
                };
                progress.advance(position, || tell(summary));
            }
            Step::Refused { number, why } => {
                progress.note(&format!("{entry_name} {number}: {why}"));
            }
            Step::Remark { number, what } => {
                progress.note(&format!("{entry_name} {number}: {what}"));
            }
        },
    );
    let outcome = outcome.await;
    match &outcome {
        Ok(summary) => progress.finish(&tell(summary)),
        Err(_) => progress.finish("not finished; the same import goes on from here"),
    }
    outcome
}

fn tell(summary: &Summary) -> String {
    let mut text = format!(
        "{} conversations, {} messages, {} messages/s",
        grouped(summary.conversations),
        grouped(summary.messages),
        grouped(per_second(summary.messages, summary.seconds)),
    );
    if summary.already_there > 0 {
        text = format!("{text}, {} there before", grouped(summary.already_there));
    }
    if summary.refused > 0 {
        text = format!("{text}, {} refused", grouped(summary.refused));
    }
    text
}

fn length_of(source: &Source) -> Length {
    match (source.limit, &source.path) {
        (Some(limit), _) => Length::Items(limit),
        (None, Some(path)) => std::fs::metadata(path)
            .map_or(Length::Unknown, |metadata| Length::Bytes(metadata.len())),
        (None, None) => Length::Unknown,
    }
}

async fn path(source: &str) -> Result<Option<PathBuf>, devstack::StackError> {
    match source {
        STANDARD_INPUT => Ok(None),
        CHITCHAT => devstack::dataset::chitchat(&|step: StackStep| {
            drop(writeln!(console::err(), "{step}"));
        })
        .await
        .map(Some),
        file => Ok(Some(PathBuf::from(file))),
    }
}

fn format_of(source: &str) -> Format {
    if source == CHITCHAT {
        Format::Chitchat
    } else {
        Format::Openai
    }
}

fn name_of(source: &str) -> Result<String, UsageError> {
    if source == STANDARD_INPUT {
        let why = "standard input has no name: give --dataset, which the ids follow from";
        return Err(UsageError(why.to_owned()));
    }
    let name = PathBuf::from(source)
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    name.ok_or_else(|| UsageError(format!("{source} names no file")))
}
