//! What models were paid for, by day: counted in the transaction that writes the messages, so once.
//!
//! Counted when all else of the transaction is written, in one statement and in one order, since projectors of several
//! partitions share these rows: they wait for each other at most from here to the commit, and never in a circle.

use std::collections::BTreeMap;

use domain::event::{Role, Usage};
use domain::{AgentId, Fact, Label, TenantId};
use sqlx::postgres::{PgArguments, PgConnection};
use wire::commit::StoredCommit;

use super::group::Group;
use crate::day::Day;
use crate::error::ReadModelError;
use crate::queries::{bind, signed};

/// What has a sum of its own. A message that does not name its model has `""`.
type Key<'b> = (&'b TenantId, &'b AgentId, Day, &'b str);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Sums {
    messages: u64,
    tokens: Usage,
}

/// Adds what the groups' commits used, all of which are written, or need not be.
pub(super) async fn count_usage(
    connection: &mut PgConnection,
    groups: &[Group<'_>],
) -> Result<(), ReadModelError> {
    let commits = groups
        .iter()
        .flat_map(|group| group.superseded.iter().chain(&group.commits).copied());
    let sums = sums_of(commits);
    if sums.is_empty() {
        return Ok(());
    }
    sqlx::query_with(include_str!("count_usage.sql"), arguments(&sums))
        .execute(connection)
        .await?;
    Ok(())
}

fn sums_of<'b>(commits: impl Iterator<Item = &'b StoredCommit>) -> BTreeMap<Key<'b>, Sums> {
    let mut sums: BTreeMap<Key<'b>, Sums> = BTreeMap::new();
    for stored in commits {
        let commit = &stored.opened.commit;
        let day = Day::of(commit.recorded_at);
        for (model, usage) in commit.events.iter().filter_map(|event| paid(&event.fact)) {
            let key = (&commit.tenant, &commit.head.agent, day, model);
            sums.entry(key).or_default().add(usage);
        }
    }
    sums
}

/// The model and the tokens of a message that a model wrote.
fn paid(fact: &Fact) -> Option<(&str, &Usage)> {
    let Fact::MessageAppended(message) = fact else {
        return None;
    };
    let usage = message
        .usage
        .as_ref()
        .filter(|_| message.role == Role::Assistant)?;
    Some((message.model.as_ref().map_or("", Label::as_str), usage))
}

impl Sums {
    fn add(&mut self, usage: &Usage) {
        self.messages += 1;
        let tokens = &mut self.tokens;
        tokens.input_tokens = tokens.input_tokens.saturating_add(usage.input_tokens);
        tokens.output_tokens = tokens.output_tokens.saturating_add(usage.output_tokens);
        tokens.cached_tokens = tokens.cached_tokens.saturating_add(usage.cached_tokens);
        tokens.reasoning_tokens = tokens
            .reasoning_tokens
            .saturating_add(usage.reasoning_tokens);
    }
}

fn arguments(sums: &BTreeMap<Key<'_>, Sums>) -> PgArguments {
    let numbers = |number: fn(&Sums) -> u64| -> Vec<i64> {
        sums.values().map(|sums| signed(number(sums))).collect()
    };
    let texts =
        |text: for<'k> fn(&Key<'k>) -> &'k str| -> Vec<&str> { sums.keys().map(text).collect() };
    let arguments = bind(PgArguments::default(), numbers(|sums| sums.messages));
    let arguments = bind(arguments, numbers(|sums| sums.tokens.input_tokens));
    let arguments = bind(arguments, numbers(|sums| sums.tokens.output_tokens));
    let arguments = bind(arguments, numbers(|sums| sums.tokens.cached_tokens));
    let arguments = bind(arguments, numbers(|sums| sums.tokens.reasoning_tokens));
    let days: Vec<Day> = sums.keys().map(|(_, _, day, _)| *day).collect();
    let arguments = bind(arguments, days);
    let arguments = bind(arguments, texts(|(tenant, ..)| tenant.as_str()));
    let arguments = bind(arguments, texts(|(_, agent, ..)| agent.as_str()));
    bind(arguments, texts(|(.., model)| model))
}
