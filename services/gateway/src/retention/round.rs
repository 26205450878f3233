//! One retention round: processes every agent with rules, within the limits of the round.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use domain::{AgentId, TenantId, Timestamp};
use read_model::projections::conversations::wait_until_reached;
use read_model::{ExpiredConversation, ExpiryRule, ReadModelError, expired_conversations, parents_of_forks};
use registry::{AccessError, AgentAccess, Principal, Scope};
use wire::proto::operate::v1::{Agent, RetentionSettings};

use super::change::{Change, Target};
use super::config::Limits;
use super::progress::{Completion, Progress};
use super::resume_points::ResumePoints;
use super::rules::{RuleKind, resumed, rule_of_empty, rules_of};
use super::{Dependencies, RoundError, Tally, documents};

/// Maximum number of pages per rule and agent that a round reads. The next round continues after them.
pub const PAGES_PER_RULE_MAX: usize = 100;

/// Runs a round: deletes expired documents, then erases and archives conversations by the agents' rules. Empty conversations of sessions
/// are erased for every agent, if the gateway's token may erase. Documents and rules have [`Limits::changes_max`] and [`FAILURES_MAX`]
/// each for themselves, and a failure of one does not skip the other.
///
/// [`FAILURES_MAX`]: super::FAILURES_MAX
///
/// # Errors
/// [`RoundError`]; changes from before the error remain.
pub async fn round(
    deps: &Dependencies,
    limits: &Limits,
    resume_points: &mut ResumePoints,
) -> Result<Tally, RoundError> {
    let with_rules = agents_with_rules(deps);
    let has_rules = !with_rules.is_empty();
    if has_rules && !deps.registry.is_fresh() {
        return Err(RoundError::RegistryStale);
    }
    let authenticated = deps.registry.authenticate(deps.token.expose(), Timestamp(deps.clock.now_nanos())).await;
    let principal = match authenticated {
        Some(principal) => principal,
        None if has_rules => return Err(RoundError::Refused),
        None => return Ok(Tally::default()),
    };
    let mut swept = Progress::new(limits);
    let sweep = documents::sweep(deps, &principal, &mut swept, resume_points).await;
    let mut progress = Progress::new(limits);
    progress.tally.agents = with_rules.len();
    if has_rules {
        wait_for_rows(deps, limits.rows_wait).await?;
    }
    let agents = if may_erase(&principal) { agents_of(deps, |_| true) } else { with_rules };
    let agents = resume_points.in_order(&agents);
    process_agents(deps, &principal, agents, resume_points, &mut progress).await?;
    // Only now: documents that cannot be read or deleted do not stop the rules.
    sweep?;
    if progress.is_refused || swept.is_refused {
        return Err(RoundError::Refused);
    }
    Ok(progress.tally.with_changes_of(&swept.tally))
}

/// Waits until the rows of the database hold all commits that the record holds now.
///
/// # Errors
/// [`RoundError::RowsBehind`] after `wait_max`; record or rows are unavailable.
async fn wait_for_rows(deps: &Dependencies, wait_max: Duration) -> Result<(), RoundError> {
    let ends = deps.record.ends().await?;
    let is_reached = wait_until_reached(&deps.read_model, &ends, wait_max).await?;
    is_reached.then_some(()).ok_or(RoundError::RowsBehind)
}

fn agents_with_rules(deps: &Dependencies) -> BTreeSet<AgentId> {
    let has_rule = |settings: &RetentionSettings| !rules_of(settings, Timestamp(0)).is_empty();
    agents_of(deps, |agent| retention_of(agent).is_some_and(has_rule))
}

/// The agents of the tenants of the database, filtered.
fn agents_of(deps: &Dependencies, filter: impl Fn(&Agent) -> bool) -> BTreeSet<AgentId> {
    let registry = &deps.registry;
    let tenants = registry
        .list_tenants()
        .into_iter()
        .filter_map(|tenant| TenantId::parse(tenant.tenant_id).ok())
        .filter(|tenant| deps.read_model.serves(tenant));
    let agents = tenants.flat_map(|tenant| registry.list_agents(&tenant)).filter(filter);
    agents.filter_map(|agent| AgentId::parse(agent.agent_id).ok()).collect()
}

/// Whether the gateway's token may erase.
fn may_erase(principal: &Principal) -> bool {
    principal.require(Scope::Erase).is_ok()
}

fn retention_of(agent: &Agent) -> Option<&RetentionSettings> {
    agent.settings.as_ref()?.retention.as_ref()
}

/// Processes the agents in this order, within the limits of the round.
async fn process_agents(
    deps: &Dependencies,
    principal: &Principal,
    agents: Vec<AgentId>,
    resume_points: &mut ResumePoints,
    progress: &mut Progress,
) -> Result<(), RoundError> {
    for agent in agents {
        let completion = if progress.is_over() {
            Completion::Partial
        } else {
            process_agent(deps, principal, &agent, resume_points, progress).await?
        };
        if completion == Completion::Partial {
            progress.tally.left_over += 1;
            if progress.is_over() {
                resume_points.start_next_with(&agent);
            }
        }
    }
    Ok(())
}

/// Processes an agent. Corrupt rows of one agent do not end the round.
async fn process_agent(
    deps: &Dependencies,
    principal: &Principal,
    agent: &AgentId,
    resume_points: &mut ResumePoints,
    progress: &mut Progress,
) -> Result<Completion, RoundError> {
    let registry = &deps.registry;
    let access = match registry.authorize(principal, Scope::Read, agent).await {
        Ok(access) => access,
        Err(AccessError::MissingScope(_)) => return Err(RoundError::Refused),
        // The token is bound to another tenant, or to other agents.
        Err(AccessError::UnknownAgent | AccessError::UnknownTenant | AccessError::BoundToAgents) => {
            return Ok(Completion::Partial);
        }
    };
    let mut round = AgentRound { deps, access: &access, may_erase: may_erase(principal), progress };
    match round.run(resume_points).await {
        Err(error @ ReadModelError::Unavailable { .. }) => {
            resume_points.start_next_with(agent);
            Err(error.into())
        }
        Err(error) => {
            tracing::error!(tenant.id = %access.tenant.tenant(), agent.id = %agent, %error, "the rows of an agent cannot be read");
            round.progress.tally.failed += 1;
            Ok(Completion::Partial)
        }
        Ok(completion) => Ok(completion),
    }
}

/// The part of a round that processes one agent.
struct AgentRound<'a> {
    deps: &'a Dependencies,
    access: &'a AgentAccess,
    may_erase: bool,
    progress: &'a mut Progress,
}

impl AgentRound<'_> {
    async fn run(&mut self, resume_points: &mut ResumePoints) -> Result<Completion, ReadModelError> {
        let agent = &self.access.agent;
        let known = self.deps.registry.agent(agent);
        let now = Timestamp(self.deps.clock.now_nanos());
        let mut rules = known.as_ref().and_then(retention_of).map(|rules| rules_of(rules, now)).unwrap_or_default();
        if self.may_erase {
            rules.push(rule_of_empty(now));
        }
        let mut completion = Completion::Complete;
        for rule in rules {
            let kind = RuleKind::of(&rule);
            let resume_point = resume_points.take(agent, kind);
            if resume_point.is_some() && kind == RuleKind::Messages {
                // Conversations become too long while they are used: every round checks the most recent ones first.
                self.process_pages(rule.clone(), 1).await?;
            }
            let start = match resume_point {
                Some(resume_point) => resumed(&rule, resume_point),
                None => rule,
            };
            if let Some(next) = self.process_pages(start, PAGES_PER_RULE_MAX).await? {
                resume_points.save(agent, next);
                completion = Completion::Partial;
            }
        }
        Ok(completion)
    }

    /// Processes pages of a rule. Returns where to continue; `None`: there are no more pages.
    async fn process_pages(
        &mut self,
        start: ExpiryRule,
        pages_max: usize,
    ) -> Result<Option<ExpiryRule>, ReadModelError> {
        let mut next = Some(start);
        for _ in 0..pages_max {
            let Some(rule) = next.take_if(|_| !self.progress.is_over()) else {
                break;
            };
            let AgentAccess { tenant, agent, .. } = self.access;
            let page = expired_conversations(&self.deps.read_model, tenant, agent, &rule).await?;
            let targets = self.targets(page.conversations, &rule).await?;
            next = match self.progress.change_all(self.deps, targets, &rule).await {
                Completion::Complete => page.next,
                Completion::Partial => Some(rule),
            };
        }
        Ok(next)
    }

    /// The conversations of a page that may be changed.
    async fn targets(&self, found: Vec<ExpiredConversation>, rule: &ExpiryRule) -> Result<Vec<Target>, ReadModelError> {
        let AgentAccess { tenant, agent, .. } = self.access;
        let ids: Vec<_> = found.iter().map(|found| &found.id).collect();
        let forked = match Change::by(rule) {
            Change::Erase if !ids.is_empty() => parents_of_forks(&self.deps.read_model, tenant, &ids).await?,
            Change::Erase | Change::Archive { .. } => HashSet::new(),
        };
        let unused = found.into_iter().filter(|found| found.head.active_run.is_none() && !forked.contains(&found.id));
        let targets = unused.map(|found| Target { tenant: tenant.tenant().clone(), agent: agent.clone(), found });
        Ok(targets.collect())
    }
}
