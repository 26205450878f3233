//! Where rounds ended, so that the next round continues there. They only serve fairness: without them, every rule starts at its
//! first page.

use std::collections::{BTreeMap, BTreeSet};

use domain::{AgentId, TenantId};
use read_model::ExpiryRule;
use read_model::queries::documents::ExpiryCursor;

use super::rules::RuleKind;

/// Where a gateway's rounds ended: at most one point per rule and agent, and one for expired documents.
#[derive(Debug, Default)]
pub struct ResumePoints {
    first: Option<AgentId>,
    documents: Option<DocumentsPoint>,
    points: BTreeMap<AgentId, BTreeMap<RuleKind, ExpiryRule>>,
}

/// Where the deletion of expired documents ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DocumentsPoint {
    pub(super) tenant: TenantId,
    /// `None`: nothing of the tenant was read.
    pub(super) after: Option<ExpiryCursor>,
}

impl DocumentsPoint {
    /// The begin of a tenant.
    pub(super) fn first_of(tenant: TenantId) -> Self {
        Self { tenant, after: None }
    }
}

impl ResumePoints {
    /// The agents in the order of processing: first the one that the last round did not reach. Points of other agents are
    /// dropped.
    pub(super) fn in_order(&mut self, agents: &BTreeSet<AgentId>) -> Vec<AgentId> {
        self.points.retain(|agent, _| agents.contains(agent));
        let first = self.first.take();
        starting_with(agents, first.as_ref())
    }

    /// Lets the next round start with this agent. Only the first call of a round has an effect.
    pub(super) fn start_next_with(&mut self, agent: &AgentId) {
        self.first.get_or_insert_with(|| agent.clone());
    }

    /// Removes and returns the point of a rule of an agent.
    pub(super) fn take(&mut self, agent: &AgentId, kind: RuleKind) -> Option<ExpiryRule> {
        self.points.get_mut(agent)?.remove(&kind)
    }

    /// Saves where the processing of a rule of an agent ended.
    pub(super) fn save(&mut self, agent: &AgentId, point: ExpiryRule) {
        let points = self.points.entry(agent.clone()).or_default();
        points.insert(RuleKind::of(&point), point);
    }

    /// Removes and returns the point of expired documents.
    pub(super) fn take_documents(&mut self) -> Option<DocumentsPoint> {
        self.documents.take()
    }

    /// Saves where the deletion of expired documents ended.
    pub(super) fn save_documents(&mut self, point: DocumentsPoint) {
        self.documents = Some(point);
    }
}

/// All elements, those from `first` on before the others.
pub(super) fn starting_with<T: Ord + Clone>(all: &BTreeSet<T>, first: Option<&T>) -> Vec<T> {
    let (before, from) = all.iter().cloned().partition::<Vec<_>, _>(|one| first.is_some_and(|first| one < first));
    from.into_iter().chain(before).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agents(names: &[&str]) -> BTreeSet<AgentId> {
        names.iter().map(|name| AgentId::parse(*name).unwrap()).collect()
    }

    #[test]
    fn the_agent_that_was_not_reached_is_first() {
        let check = |first: &str, expected: [&str; 3]| {
            let mut resume_points = ResumePoints::default();
            resume_points.start_next_with(&AgentId::parse(first).unwrap());
            resume_points.start_next_with(&AgentId::parse("z").unwrap());
            let all = agents(&["a", "b", "d"]);
            let in_order = resume_points.in_order(&all);
            let order: Vec<&str> = in_order.iter().map(AgentId::as_str).collect();
            assert_eq!(order, expected, "{first}");
            let again: Vec<AgentId> = all.iter().cloned().collect();
            assert_eq!(resume_points.in_order(&all), again);
        };
        check("a", ["a", "b", "d"]);
        check("b", ["b", "d", "a"]);
        check("c", ["d", "a", "b"]);
        check("e", ["a", "b", "d"]);
    }

    #[test]
    fn points_are_kept_for_agents_with_rules() {
        let mut resume_points = ResumePoints::default();
        let agent = AgentId::parse("a").unwrap();
        let point = ExpiryRule::Long { messages_max: 1, after: None };
        resume_points.save(&agent, point.clone());
        resume_points.in_order(&agents(&["a"]));
        assert_eq!(resume_points.take(&agent, RuleKind::Idle), None);
        assert_eq!(resume_points.take(&agent, RuleKind::Messages), Some(point.clone()));
        assert_eq!(resume_points.take(&agent, RuleKind::Messages), None);
        resume_points.save(&agent, point);
        resume_points.in_order(&agents(&["b"]));
        assert_eq!(resume_points.take(&agent, RuleKind::Messages), None);
    }
}
