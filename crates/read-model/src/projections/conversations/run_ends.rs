//! Ends of runs by day, agent and outcome, counted as [`super::usage`] counts tokens.

use std::collections::BTreeMap;

use domain::{AgentId, Fact, Lifecycle, TenantId};
use sqlx::postgres::{PgArguments, PgConnection};
use wire::commit::StoredCommit;

use crate::arguments::{arguments, execute, signed};
use crate::day::Day;
use crate::error::ReadModelError;
use crate::outcome_code::outcome_code;

/// The key of a count. The last part is the code of the outcome.
type Key<'b> = (&'b TenantId, Day, &'b AgentId, i16);

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
                let key = (&commit.tenant, day, &commit.head.agent, outcome);
                *counts.entry(key).or_default() += 1;
            }
        }
    }
    counts
}

fn arguments(counts: &BTreeMap<Key<'_>, u64>) -> PgArguments {
    let runs: Vec<i64> = counts.values().map(|runs| signed(*runs)).collect();
    let days: Vec<Day> = counts.keys().map(|(_, day, ..)| *day).collect();
    let outcomes: Vec<i16> = counts.keys().map(|(.., outcome)| *outcome).collect();
    let tenants: Vec<&str> = counts.keys().map(|(tenant, ..)| tenant.as_str()).collect();
    let agents: Vec<&str> = counts.keys().map(|(_, _, agent, _)| agent.as_str()).collect();
    arguments![runs, days, outcomes, tenants, agents]
}
