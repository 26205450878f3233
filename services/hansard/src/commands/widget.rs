//! `hansard widget`: the tag that shows the chat on a page.

use std::io::Write as _;

use anyhow::Context as _;
use clap::Subcommand;
use serde_json::json;
use url::Url;
use widget::Snippet;

use crate::console;
use crate::exit::Exit;

/// Print the HTML that shows the chat on a page.
///
/// Needs no connection: the files of the widget are in this program.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The tag is that of this program's version. Print it again when the gateway is upgraded: browsers do not run a file with another \
integrity. A page whose tag has no integrity follows the gateway.

Examples:
  hansard widget snippet --gateway https://chat.example.com --api-key hp_KEY
  hansard widget snippet --gateway https://chat.example.com --api-key hp_KEY --without-integrity
  hansard widget snippet --gateway https://chat.example.com --api-key hp_KEY --json")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print the script tag of a floating chat.
    Snippet {
        /// Public URL of the gateway, as browsers reach it.
        #[arg(long, value_name = "URL")]
        gateway: Url,
        /// API key of the agent, which is public.
        #[arg(long, value_name = "KEY")]
        api_key: String,
        /// Leave the integrity out: the page runs whatever the gateway serves.
        #[arg(long)]
        without_integrity: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let Action::Snippet { gateway, api_key, without_integrity, json: as_json } = args.action;
    let mut snippet = Snippet::new(gateway.as_str(), &api_key);
    if without_integrity {
        snippet.integrity = None;
    }
    let html = snippet.html();
    let text = if as_json {
        json!({"src": snippet.src, "integrity": snippet.integrity, "apiKey": api_key, "html": html}).to_string()
    } else {
        html
    };
    writeln!(console::out(), "{text}").context("cannot write the snippet")?;
    Ok(Exit::Done)
}
