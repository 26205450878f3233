//! `hansard history`: histories under a caller's own key.

mod keyed;
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
use crate::view::json;

const MESSAGE: &str = "hansard.event.v1.MessageAppended";
/// Most bytes of a file of messages: more than a call may have.
const MESSAGES_FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Load and record histories under a caller's own key, as bots do.
///
/// Templates name values of the variables, as `{{results.parser.chat_id}}`; the first valid key counts. Files of messages have
/// one a line, such as `{"role": "ROLE_USER", "parts": [{"text": "Hi"}]}`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard history load --agent support --candidate telegram:42
  hansard history load --agent support --variables event.json --messages thread.jsonl \\
    --candidate 'telegram:{{results.telegram.chat_id}}' --candidate '{{thread_id}}' --json | jq .messages
  hansard history record --agent support --candidate telegram:42 --messages thread.jsonl")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Load(load::Args),
    Record(record::Args),
}

/// Runs the command.
///
/// # Errors
/// A file cannot be read, or what the service says.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    match args.action {
        Action::Load(args) => load::run(args).await,
        Action::Record(args) => record::run(args).await,
    }
}

/// The messages of a file, one JSON document a line, oldest first.
fn messages(file: &Path) -> anyhow::Result<Vec<MessageAppended>> {
    let text = input_file::text(file, MESSAGES_FILE_BYTES_MAX)?;
    let lines = (1..).zip(text.lines());
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let messages = lines.map(|(number, line)| {
        json::read(MESSAGE, line)
            .with_context(|| format!("{}: line {number}: not a message", file.display()))
    });
    messages.collect()
}

/// Tells on standard error what is not all that it could be; a history with warnings counts as a failure here.
fn complain(refused: &[RefusedKey], warnings: &[HistoryWarning]) -> Exit {
    for refused in refused {
        console::complain(&format!(
            "{} is no key: {}",
            refused.candidate, refused.reason
        ));
    }
    for warning in warnings {
        console::complain(&format!("{}: {}", warning.code, warning.message));
    }
    if warnings.is_empty() {
        Exit::Done
    } else {
        Exit::Failed
    }
}
