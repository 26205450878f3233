//! Where rounds ended, so that the next one goes on there. It is for fairness alone: lost, everything is walked again.

use std::collections::{BTreeMap, BTreeSet};

use domain::AgentId;
use read_model::ExpiryRule;

use super::rules::Kind;

/// Where a gateway's rounds ended: at most one place for each rule of each agent that has rules.
#[derive(Debug, Default)]
pub struct Walks {
    first: Option<AgentId>,
    places: BTreeMap<AgentId, BTreeMap<Kind, ExpiryRule>>,
}

impl Walks {
    /// The agents in the order of their turns: the one that was not reached the last time is the first. Others are
    /// forgotten.
    pub(super) fn in_turn(&mut self, agents: &BTreeSet<AgentId>) -> Vec<AgentId> {
        self.places.retain(|agent, _| agents.contains(agent));
        let first = self.first.take();
        let (before, from) = agents
            .iter()
            .cloned()
            .partition::<Vec<_>, _>(|agent| first.as_ref().is_some_and(|first| agent < first));
        from.into_iter().chain(before).collect()
    }

    /// The next round begins with this agent, unless it begins with an earlier one that was told so first.
    pub(super) fn begin_with(&mut self, agent: &AgentId) {
        self.first.get_or_insert_with(|| agent.clone());
    }

    /// Where the agent's walk by a rule ended, once.
    pub(super) fn take(&mut self, agent: &AgentId, kind: Kind) -> Option<ExpiryRule> {
        self.places.get_mut(agent)?.remove(&kind)
    }

    /// The agent's walk by a rule ended here.
    pub(super) fn keep(&mut self, agent: &AgentId, place: ExpiryRule) {
        let places = self.places.entry(agent.clone()).or_default();
        places.insert(Kind::of(&place), place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agents(names: &[&str]) -> BTreeSet<AgentId> {
        let ids = names.iter().map(|name| AgentId::parse(*name).unwrap());
        ids.collect()
    }

    #[test]
    fn who_was_not_reached_is_first() {
        let check = |first: &str, expected: [&str; 3]| {
            let mut walks = Walks::default();
            walks.begin_with(&AgentId::parse(first).unwrap());
            walks.begin_with(&AgentId::parse("z").unwrap());
            let all = agents(&["a", "b", "d"]);
            let turns = walks.in_turn(&all);
            let turns: Vec<&str> = turns.iter().map(AgentId::as_str).collect();
            assert_eq!(turns, expected, "{first}");
            let again: Vec<AgentId> = all.iter().cloned().collect();
            assert_eq!(walks.in_turn(&all), again);
        };
        check("a", ["a", "b", "d"]);
        check("b", ["b", "d", "a"]);
        check("c", ["d", "a", "b"]);
        check("e", ["a", "b", "d"]);
    }

    #[test]
    fn places_are_kept_for_agents_with_rules() {
        let mut walks = Walks::default();
        let agent = AgentId::parse("a").unwrap();
        let place = ExpiryRule::Long {
            messages_max: 1,
            after: None,
        };
        walks.keep(&agent, place.clone());
        walks.in_turn(&agents(&["a"]));
        assert_eq!(walks.take(&agent, Kind::Idle), None);
        assert_eq!(walks.take(&agent, Kind::Messages), Some(place.clone()));
        assert_eq!(walks.take(&agent, Kind::Messages), None);
        walks.keep(&agent, place);
        walks.in_turn(&agents(&["b"]));
        assert_eq!(walks.take(&agent, Kind::Messages), None);
    }
}
