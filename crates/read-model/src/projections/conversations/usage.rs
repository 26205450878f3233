//! Usage of models by day, counted exactly once: in the transaction that writes the messages.
//!
//! Projectors of several partitions share these rows. So the counts are the last statements of the transaction and update the
//! rows in a fixed order: projectors wait for each other only until the commit, without deadlocks.

use std::collections::BTreeMap;

use domain::event::{Role, Usage};
use domain::{AgentId, Fact, Label, TenantId};
use sqlx::postgres::{PgArguments, PgConnection};
use wire::commit::StoredCommit;

use super::group::Group;
use super::run_ends::count_run_ends;
use crate::arguments::{arguments, execute, signed};
use crate::day::Day;
use crate::error::ReadModelError;

/// The key of a sum. The order of the fields is the order of the updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'b> {
    tenant: &'b TenantId,
    agent: &'b AgentId,
    day: Day,
    /// `""`: the message does not name it.
    model: &'b str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Sums {
    messages: u64,
    tokens: Usage,
}

/// Adds the usage and the ends of runs of the groups' commits, including superseded ones.
pub(super) async fn count_usage(connection: &mut PgConnection, groups: &[Group<'_>]) -> Result<(), ReadModelError> {
    let commits: Vec<&StoredCommit> =
        groups.iter().flat_map(|group| group.superseded.iter().chain(&group.commits).copied()).collect();
    count_run_ends(connection, &commits).await?;
    let sums = sums_of(&commits);
    if sums.is_empty() {
        return Ok(());
    }
    execute(connection, include_str!("count_usage.sql"), arguments(&sums)).await?;
    Ok(())
}

fn sums_of<'b>(commits: &[&'b StoredCommit]) -> BTreeMap<Key<'b>, Sums> {
    let mut sums: BTreeMap<Key<'b>, Sums> = BTreeMap::new();
    for stored in commits {
        let commit = &stored.opened.commit;
        let day = Day::from_time(commit.recorded_at);
        for (model, usage) in commit.events.iter().filter_map(|event| paid(&event.fact)) {
            let key = Key { tenant: &commit.tenant, agent: &commit.head.agent, day, model };
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
    let is_reply = message.role == Role::Assistant;
    let usage = message.usage.as_ref().filter(|_| is_reply)?;
    Some((message.model.as_ref().map_or("", Label::as_str), usage))
}

impl Sums {
    fn add(&mut self, usage: &Usage) {
        self.messages += 1;
        let tokens = &mut self.tokens;
        tokens.input_tokens = tokens.input_tokens.saturating_add(usage.input_tokens);
        tokens.output_tokens = tokens.output_tokens.saturating_add(usage.output_tokens);
        tokens.cached_tokens = tokens.cached_tokens.saturating_add(usage.cached_tokens);
        tokens.reasoning_tokens = tokens.reasoning_tokens.saturating_add(usage.reasoning_tokens);
    }
}

fn arguments(sums: &BTreeMap<Key<'_>, Sums>) -> PgArguments {
    let numbers = |number: fn(&Sums) -> u64| -> Vec<i64> { sums.values().map(|sums| signed(number(sums))).collect() };
    let texts = |text: for<'k> fn(&Key<'k>) -> &'k str| -> Vec<&str> { sums.keys().map(text).collect() };
    let days: Vec<Day> = sums.keys().map(|key| key.day).collect();
    arguments![
        numbers(|sums| sums.messages),
        numbers(|sums| sums.tokens.input_tokens),
        numbers(|sums| sums.tokens.output_tokens),
        numbers(|sums| sums.tokens.cached_tokens),
        numbers(|sums| sums.tokens.reasoning_tokens),
        days,
        texts(|key| key.tenant.as_str()),
        texts(|key| key.agent.as_str()),
        texts(|key| key.model),
    ]
}
