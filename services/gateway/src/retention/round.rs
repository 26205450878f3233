//! One round: every agent with rules has its turn, as far as the round's limits reach.

use std::collections::{BTreeSet, HashSet};

use domain::{AgentId, TenantId, Timestamp};
use event_log::Registry;
use event_log::registry::{AccessError, AgentAccess, Principal, Scope};
use read_model::{ExpiredConversation, ExpiryRule, ReadModelError, expired, forked};
use wire::proto::operate::v1::{Agent, RetentionSettings};

use super::change::{Change, Target};
use super::config::Limits;
use super::progress::{Extent, Progress};
use super::round_result::{RoundError, Tally};
use super::rules::{Kind, resumed, rules_of};
use super::walks::Walks;
use super::{Means, fence};

/// Most pages of one rule of one agent that a round reads; the next one goes on behind them.
pub const PAGES_PER_RULE_MAX: usize = 100;

/// Does a round: erases and archives what the agents' rules no longer keep, as of its beginning at the latest.
///
/// # Errors
/// [`RoundError`]; what was done before stays done.
pub async fn round(means: &Means, limits: &Limits, walks: &mut Walks) -> Result<Tally, RoundError> {
    let agents = walks.in_turn(&with_rules(&means.registry));
    if agents.is_empty() {
        return Ok(Tally::default());
    }
    if !means.registry.is_fresh() {
        return Err(RoundError::RegistryStale);
    }
    let principal = means.registry.authenticate(means.token.expose()).await;
    let principal = principal.ok_or(RoundError::Refused)?;
    fence::wait(means, limits.rows_wait).await?;
    let mut progress = Progress::new(limits);
    progress.tally.agents = agents.len();
    for agent in agents {
        let extent = if progress.is_over() {
            Extent::Cut
        } else {
            take_turn(means, &principal, &agent, (walks, &mut progress)).await?
        };
        if extent == Extent::Cut {
            progress.tally.left_over += 1;
            if progress.is_over() {
                walks.begin_with(&agent);
            }
        }
    }
    if progress.is_refused {
        return Err(RoundError::Refused);
    }
    Ok(progress.tally)
}

fn with_rules(registry: &Registry) -> BTreeSet<AgentId> {
    let tenants = registry.list_tenants().into_iter();
    let tenants = tenants.filter_map(|tenant| TenantId::parse(tenant.tenant_id).ok());
    let agents = tenants.flat_map(|tenant| registry.list_agents(&tenant));
    let agents = agents.filter(|agent| retention_of(agent).is_some_and(has_rule));
    let ids = agents.filter_map(|agent| AgentId::parse(agent.agent_id).ok());
    ids.collect()
}

fn retention_of(agent: &Agent) -> Option<&RetentionSettings> {
    agent.settings.as_ref()?.retention.as_ref()
}

fn has_rule(settings: &RetentionSettings) -> bool {
    !rules_of(settings, Timestamp(0)).is_empty()
}

/// An agent's turn. What its rows do wrong is its own affair.
async fn take_turn(
    means: &Means,
    principal: &Principal,
    agent: &AgentId,
    (walks, progress): (&mut Walks, &mut Progress),
) -> Result<Extent, RoundError> {
    let registry = &means.registry;
    let access = match registry.authorize(principal, Scope::Read, agent).await {
        Ok(access) => access,
        Err(AccessError::MissingScope(_)) => return Err(RoundError::Refused),
        // A token of one tenant does nothing for the others.
        Err(AccessError::UnknownAgent | AccessError::UnknownTenant) => return Ok(Extent::Cut),
    };
    let mut turn = Turn {
        means,
        access: &access,
        progress,
    };
    match turn.take(walks).await {
        Err(error @ ReadModelError::Unavailable { .. }) => {
            walks.begin_with(agent);
            Err(error.into())
        }
        Err(error) => {
            tracing::error!(tenant.id = %access.tenant.tenant(), agent.id = %agent, %error, "an agent's rows cannot be read");
            turn.progress.tally.failed += 1;
            Ok(Extent::Cut)
        }
        Ok(extent) => Ok(extent),
    }
}

struct Turn<'a> {
    means: &'a Means,
    access: &'a AgentAccess,
    progress: &'a mut Progress,
}

impl Turn<'_> {
    async fn take(&mut self, walks: &mut Walks) -> Result<Extent, ReadModelError> {
        let agent = &self.access.agent;
        let known = self.means.registry.agent(agent);
        let Some(settings) = known.as_ref().and_then(retention_of) else {
            return Ok(Extent::Whole);
        };
        let mut extent = Extent::Whole;
        for rule in rules_of(settings, Timestamp(self.means.clock.now_nanos())) {
            let kind = Kind::of(&rule);
            let place = walks.take(agent, kind);
            if place.is_some() && kind == Kind::Messages {
                // A conversation grows too long while it is used: those of late are looked at in every round.
                self.walk(rule.clone(), 1).await?;
            }
            let begin = match place {
                Some(place) => resumed(&rule, place),
                None => rule,
            };
            if let Some(place) = self.walk(begin, PAGES_PER_RULE_MAX).await? {
                walks.keep(agent, place);
                extent = Extent::Cut;
            }
        }
        Ok(extent)
    }

    /// Walks by a rule; where it ended, unless at the end.
    async fn walk(
        &mut self,
        begin: ExpiryRule,
        pages_max: usize,
    ) -> Result<Option<ExpiryRule>, ReadModelError> {
        let mut next = Some(begin);
        for _ in 0..pages_max {
            let Some(rule) = next.take_if(|_| !self.progress.is_over()) else {
                break;
            };
            let AgentAccess { tenant, agent, .. } = self.access;
            let page = expired(&self.means.read_model, tenant, agent, &rule).await?;
            let targets = self.targets(page.conversations, &rule).await?;
            next = match self.progress.change_all(self.means, targets, &rule).await {
                Extent::Whole => page.next,
                Extent::Cut => Some(rule),
            };
        }
        Ok(next)
    }

    /// What may be changed of what a page names.
    async fn targets(
        &self,
        found: Vec<ExpiredConversation>,
        rule: &ExpiryRule,
    ) -> Result<Vec<Target>, ReadModelError> {
        let AgentAccess { tenant, agent, .. } = self.access;
        let ids: Vec<_> = found.iter().map(|found| &found.id).collect();
        let forked = match Change::by(rule) {
            Change::Erase if !ids.is_empty() => {
                forked(&self.means.read_model, tenant, &ids).await?
            }
            Change::Erase | Change::Archive { .. } => HashSet::new(),
        };
        let free = found
            .into_iter()
            .filter(|found| found.head.active_run.is_none() && !forked.contains(&found.id));
        let targets = free.map(|found| Target {
            tenant: tenant.tenant().clone(),
            agent: agent.clone(),
            found,
        });
        Ok(targets.collect())
    }
}
