//! `hansard search`: finds texts in conversations.

use std::io::Write as _;

use clap::ValueEnum;
use wire::json;
use wire::proto::read::v1 as proto;

use super::address::GatewayAddress;
use crate::client::{answer, retrying};
use crate::console;
use crate::exit::Exit;
use crate::table;
use crate::view::when;

const MESSAGE: &str = "hansard.read.v1.SearchConversationsResponse";

/// Search titles, messages, tool calls and tool results.
///
/// All words of the query must occur. Quote "phrases", exclude -words, and filter by role:, tool:, user:, agent:, before:, after: and
/// has:. Needs a service token with the scope `read`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard search 'refund -parcel' --agent support
  hansard search '\"blue parcel\" role:user after:2026-11-01' --agent support --whole-tenant
  hansard search 'tool:find_order has:error' --agent support --json | jq -r '.results[].conversationId'")]
pub(crate) struct Args {
    /// The query; at most 512 bytes.
    query: String,
    /// The agent.
    #[arg(long, default_value = "")]
    agent: String,
    /// Search the conversations of all agents of the agent's tenant.
    #[arg(long)]
    whole_tenant: bool,
    /// Order of the results.
    #[arg(long, value_name = "ORDER", default_value = "newest")]
    order: Order,
    /// Maximum number of results, 1 to 100.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
    /// Token of the next page, as the previous page has printed it.
    #[arg(long, value_name = "TOKEN", default_value = "")]
    page_token: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    address: GatewayAddress,
}

/// The order of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Order {
    /// Newest first.
    Newest,
    /// The best of the 500 newest first.
    Relevance,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let gateway = args.address.service()?;
    let order = match args.order {
        Order::Newest => proto::SearchOrder::Newest,
        Order::Relevance => proto::SearchOrder::Relevance,
    };
    let request = proto::SearchConversationsRequest {
        agent_id: args.agent,
        whole_tenant: args.whole_tenant,
        query: args.query,
        order: order.into(),
        page_size: args.limit,
        page_token: args.page_token,
        position_tokens: Vec::new(),
    };
    let search = async || {
        let mut reader = gateway.reader();
        answer(reader.search_conversations(request.clone()).await)
    };
    let found = retrying(search).await?;
    if args.json {
        writeln!(console::out(), "{}", json::of(MESSAGE, &found)?)?;
    } else {
        show(&found)?;
    }
    Ok(Exit::Done)
}

fn show(found: &proto::SearchConversationsResponse) -> anyhow::Result<()> {
    let mut out = console::out();
    let rows: Vec<_> = found.results.iter().map(row).collect();
    table::write(&mut out, ["TIME", "CONVERSATION", "VERSION", "KIND", "TEXT"], &rows)?;
    if let Some(count) = found.match_count {
        let more = if found.match_count_is_capped { "+" } else { "" };
        writeln!(out, "  ({count}{more} texts contain the words)")?;
    }
    if found.is_reindexing {
        writeln!(out, "  (conversations are being indexed again: results may be missing)")?;
    }
    let until = when::seconds(found.indexed_until.as_ref());
    if !until.is_empty() {
        writeln!(out, "  (indexed up to {until})")?;
    }
    if !found.next_page_token.is_empty() {
        writeln!(out, "  (more: --page-token {})", found.next_page_token)?;
    }
    Ok(())
}

fn row(result: &proto::SearchResult) -> [String; 5] {
    let name = match result.kind() {
        proto::SearchResultKind::Unspecified => "",
        proto::SearchResultKind::Title => "title",
        proto::SearchResultKind::Message => result.role().as_str_name(),
        proto::SearchResultKind::ToolCall => "call",
        proto::SearchResultKind::ToolResult => "result",
    };
    let kind = name.strip_prefix("ROLE_").unwrap_or(name);
    let version = Some(result.version).filter(|version| *version > 0);
    [
        when::seconds(result.recorded_at.as_ref()),
        result.conversation_id.clone(),
        version.map_or_else(String::new, |version| version.to_string()),
        kind.to_lowercase(),
        text(&result.snippet),
    ]
}

/// The snippet in one line.
fn text(snippet: &[proto::SnippetPart]) -> String {
    let part = |part: &proto::SnippetPart| {
        if part.is_match { format!("[{}]", part.text) } else { part.text.clone() }
    };
    let text: String = snippet.iter().map(part).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snippets_are_one_line() {
        let part = |text: &str, is_match| proto::SnippetPart { text: text.to_owned(), is_match };
        let snippet = [part("my\r\n own ", false), part("parcel", true)];
        assert_eq!(text(&snippet), "my own [parcel]");
    }
}
