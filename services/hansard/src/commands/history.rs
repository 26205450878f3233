//! `hansard history`: loads and records keyed histories.

mod history_key_args;
mod load;
mod record;

use std::path::Path;

use anyhow::Context as _;
use clap::Subcommand;
use wire::proto::event::v1::MessageAppended;
use wire::proto::history::v1::{HistoryWarning, RefusedKey};

use super::input_file;
use crate::console;
use crate::exit::Exit;
use wire::json;

const MESSAGE: &str = "hansard.event.v1.MessageAppended";
/// The maximum size of a file of messages; the limit of a call is lower.
const MESSAGES_FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Load and record histories under a bot's own key.
///
/// Templates insert values of the variables, such as `{{results.parser.chat_id}}`. The first template that gives a valid key is
/// used. Files of messages are JSON Lines, such as `{"role": "ROLE_USER", "parts": [{"text": "Hi"}]}`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard history load --agent support --candidate telegram:42
  hansard history load --agent support --variables event.json --messages thread.jsonl \\
    --candidate 'telegram:{{results.telegram.chat_id}}' --candidate '{{thread_id}}' --json | jq .messages
  hansard history record --agent support --candidate telegram:42 --messages thread.jsonl")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Load(load::Args),
    Record(record::Args),
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    match args.action {
        Action::Load(args) => load::run(args).await,
        Action::Record(args) => record::run(args).await,
    }
}

/// Reads the messages of a file: JSON Lines, oldest first.
fn messages(file: &Path) -> anyhow::Result<Vec<MessageAppended>> {
    let text = input_file::text(file, MESSAGES_FILE_BYTES_MAX)?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let messages = lines.map(|(number, line)| {
        json::read(MESSAGE, line).with_context(|| format!("{}: line {number}: not a message", file.display()))
    });
    messages.collect()
}

/// Prints rejected keys and warnings to standard error. A history with warnings gives the exit code of a failure.
fn print_warnings(refused: &[RefusedKey], warnings: &[HistoryWarning]) -> Exit {
    for refused in refused {
        let RefusedKey { candidate, reason } = refused;
        console::print_error(&format!("the key {candidate} was rejected: {reason}"));
    }
    for warning in warnings {
        console::print_error(&format!("{}: {}", warning.code, warning.message));
    }
    Exit::Failed.when(!warnings.is_empty())
}
