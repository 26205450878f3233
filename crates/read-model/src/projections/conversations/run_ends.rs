//! Ends of runs by day, agent and outcome, counted as [`super::usage`] counts tokens.

use std::collections::BTreeMap;

use domain::{AgentId, Fact, Lifecycle, TenantId};
use sqlx::postgres::{PgArguments, PgConnection};
use wire::commit::StoredCommit;

use crate::arguments::{arguments, execute, signed};
use crate::day::Day;
use crate::error::ReadModelError;
use crate::outcome_code::outcome_code;

/// The key of a count. The order of the fields is the order of the updates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'b> {
    tenant: &'b TenantId,
    day: Day,
    agent: &'b AgentId,
    /// Its code.
    outcome: i16,
}

/// Adds the ends of runs in commits.
pub(super) async fn count_run_ends(
    connection: &mut PgConnection,
    commits: &[&StoredCommit],
) -> Result<(), ReadModelError> {
    let counts = counts_of(commits);
    if counts.is_empty() {
        return Ok(());
    }
    let sql = include_str!("count_run_ends.sql");
    execute(connection, sql, arguments(&counts)).await?;
    Ok(())
}

fn counts_of<'b>(commits: &[&'b StoredCommit]) -> BTreeMap<Key<'b>, u64> {
    let mut counts = BTreeMap::new();
    for stored in commits {
        let commit = &stored.opened.commit;
        let day = Day::from_time(commit.recorded_at);
        for event in &commit.events {
            if let Fact::Lifecycle(Lifecycle::RunFinished(finished)) = &event.fact {
                let outcome = outcome_code(finished.outcome);
                let key = Key { tenant: &commit.tenant, day, agent: &commit.head.agent, outcome };
                *counts.entry(key).or_default() += 1;
            }
        }
    }
    counts
}

fn arguments(counts: &BTreeMap<Key<'_>, u64>) -> PgArguments {
    let runs: Vec<i64> = counts.values().map(|runs| signed(*runs)).collect();
    let days: Vec<Day> = counts.keys().map(|key| key.day).collect();
    let outcomes: Vec<i16> = counts.keys().map(|key| key.outcome).collect();
    let tenants: Vec<&str> = counts.keys().map(|key| key.tenant.as_str()).collect();
    let agents: Vec<&str> = counts.keys().map(|key| key.agent.as_str()).collect();
    arguments![runs, days, outcomes, tenants, agents]
}
