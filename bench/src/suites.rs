//! The suites, one file each.

mod append;
mod back_end;
mod completions;
mod context;
mod context_formats;
mod context_query;
mod forks;
mod histories;
mod items;
mod lag;
mod length;
mod list;
mod peers;
mod prefix;
mod projection;
mod streams;
mod token_counts;
mod trace;

use super::report::Report;
use super::target::Target;
use super::{Plan, Suite};

pub(super) fn title(suite: Suite) -> &'static str {
    match suite {
        Suite::Append => append::TITLE,
        Suite::Stream => append::STREAM_TITLE,
        Suite::Projection => "projection of a backlog",
        Suite::Lag => "lag of the rows at half load",
        Suite::Contexts => context::TITLE,
        Suite::Forks => "contexts of forks, compared with other conversations",
        Suite::Length => "long conversations, compared with short ones",
        Suite::List => "pages of a long list",
        Suite::Prefix => "common prefixes of successive contexts",
        Suite::Forms => "contexts in each format",
        Suite::Tokens => token_counts::TITLE,
        Suite::Streams => streams::TITLE,
        Suite::Completions => completions::TITLE,
        Suite::Items => "items of OpenAI's Conversations",
        Suite::Peers => peers::TITLE,
    }
}

pub(super) async fn run(suite: Suite, plan: &Plan, target: &Target, report: &mut Report) -> anyhow::Result<()> {
    let comparisons = match suite {
        Suite::Append => append::unary(plan, target).await?,
        Suite::Stream => vec![append::stream(plan, target).await?],
        Suite::Projection => projection::measure(plan, target).await?,
        Suite::Lag => vec![lag::measure(plan, target, report).await?],
        Suite::Contexts => context::measure(plan, target).await?,
        Suite::Forks => vec![forks::measure(plan, target).await?],
        Suite::Length => length::measure(plan, target).await?,
        Suite::List => vec![list::measure(plan, target).await?],
        Suite::Prefix => prefix::measure(target).await?,
        Suite::Forms => context_formats::measure(plan, target).await?,
        Suite::Tokens => vec![token_counts::measure(plan)?],
        Suite::Streams => vec![streams::measure(plan, target).await?],
        Suite::Completions => vec![completions::measure(plan, target).await?],
        Suite::Items => items::measure(plan, target).await?,
        Suite::Peers => {
            report.peers = peers::measure(plan, target).await?;
            Vec::new()
        }
    };
    report.comparisons.extend(comparisons);
    Ok(())
}
