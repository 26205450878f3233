//! `hansard chat`: chats with an agent.

use std::io::{IsTerminal as _, stdin, stdout};
use std::path::{Path, PathBuf};

use clap::builder::FalseyValueParser;
use domain::ConversationId;
use runtime::config::Secret;

use super::address::GATEWAY_HTTP_PORT;
use crate::chat::{self, Endpoint, Source, Style};
use crate::exit::{Exit, UsageError};
use crate::ids::{conversation, secret};

/// Chat with an agent, at a terminal or in a script.
///
/// At a terminal: arrow keys and Ctrl-R find earlier messages, Alt-Enter or a backslash at the end begins another line, Ctrl-C stops an
/// answer and keeps it, and /help lists the commands. With a question, or a pipe: prints the answer as plain text. Control characters
/// of answers are replaced. The caller is the user of --user-token, otherwise the session in the session file.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  HANSARD_API_KEY=hp_… hansard chat --url https://chat.example.org
  hansard chat --api-key hp_KEY 'Where is my parcel?'
  git diff | hansard chat --api-key hp_KEY --conversation review
  printf '/open review\\n/export review.jsonl\\n' | hansard chat --api-key hp_KEY --commands")]
pub(crate) struct Args {
    /// The question; without one, a terminal is interactive, and a pipe is the question. At most 256 KiB.
    #[arg(conflicts_with = "commands")]
    question: Option<String>,
    /// URL of the gateway's HTTP listener.
    #[arg(
        long, env = "HANSARD_CHAT_URL", hide_env_values = true,
        default_value_t = format!("http://127.0.0.1:{GATEWAY_HTTP_PORT}")
    )]
    url: String,
    /// API key of the agent; required.
    #[arg(long, env = "HANSARD_API_KEY", hide_env_values = true, value_parser = secret())]
    api_key: Option<Secret>,
    /// Token of a user, who then owns the conversations.
    #[arg(long, env = "HANSARD_USER_TOKEN", hide_env_values = true, value_parser = secret())]
    user_token: Option<Secret>,
    /// Service token with the scope `read`, for /context.
    #[arg(long, env = "HANSARD_TOKEN", hide_env_values = true, value_parser = secret())]
    token: Option<Secret>,
    /// File with the session, which gives access to your conversations. Created if it is missing; by default below --data-dir, one for
    /// each URL and API key.
    #[arg(long, env = "HANSARD_SESSION_FILE", hide_env_values = true, value_name = "FILE")]
    session: Option<PathBuf>,
    /// Conversation to continue; it is created if it does not exist.
    #[arg(long, value_name = "ID", value_parser = conversation)]
    conversation: Option<ConversationId>,
    /// Each line of standard input is a message, a command such as /list, or the answer to a question.
    #[arg(long)]
    commands: bool,
    /// No colours.
    #[arg(long, env = "NO_COLOR", hide_env_values = true, value_parser = FalseyValueParser::new())]
    no_color: bool,
    /// Folder of the history (1,000 messages) and of sessions; by default `chat` in the folder of `hansard dev`.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// PEM file with the certificates to trust, in place of the system's.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let folder = match &args.data_dir {
        Some(folder) => folder.clone(),
        None => devstack::default_data_dir()?.join("chat"),
    };
    let api_key = args.api_key.clone().ok_or_else(|| {
        let why = "an API key is required: give --api-key or HANSARD_API_KEY; hansard dev prints that of its demo";
        UsageError(why.to_owned())
    })?;
    let source = source(&args, &folder)?;
    let style = match source {
        Source::Terminal(_) if args.no_color => Style::Uncoloured,
        Source::Terminal(_) => Style::Coloured,
        Source::Message(_) | Source::Standard | Source::Lines => Style::Plain,
    };
    let session = args.session;
    let endpoint = Endpoint {
        session_file: session.unwrap_or_else(|| chat::default_file(&folder, &args.url, &api_key)),
        url: args.url,
        api_key,
        user_token: args.user_token,
        service_token: args.token,
        ca: args.ca,
    };
    let conversation = args.conversation.map(|id| id.as_str().to_owned());
    chat::run(endpoint, source, style, conversation).await
}

fn source(args: &Args, folder: &Path) -> Result<Source, UsageError> {
    if args.commands {
        return Ok(Source::Lines);
    }
    if let Some(question) = &args.question {
        return Ok(Source::Message(question.clone()));
    }
    match (stdin().is_terminal(), stdout().is_terminal()) {
        (true, true) => Ok(Source::Terminal(folder.to_owned())),
        (false, _) => Ok(Source::Standard),
        (true, false) => {
            let why = "standard output is not a terminal: give a question, as in hansard chat 'What is new?'";
            Err(UsageError(why.to_owned()))
        }
    }
}
