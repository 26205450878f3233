//! What a caller may find.

use std::collections::BTreeSet;

use domain::{AgentId, Owner};
use read_model::queries::search::DocumentScope;
use registry::AgentSearch;
use search::{Kind, Language, Query, QueryTerms, TermKey};
use wire::status::{Problem, Reason};

use super::SearchRequest;
use crate::Gateway;

/// The agents whose conversations a caller may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchAgents {
    /// All agents of the tenant.
    Tenant,
    /// These.
    Only(Vec<AgentId>),
}

/// What a caller may see of conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchAudience {
    /// Everything that is recorded: back ends, administrators, operators.
    Staff,
    /// What a chat shows to its owner: titles, and messages of the roles user and assistant that are not rewound.
    Visitor,
}

/// What a search may find.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) documents: DocumentScope,
    /// The languages of the agents.
    pub(super) languages: Vec<Language>,
    audience: SearchAudience,
    /// Whether the terms must name the agents: the number of matches discloses nothing of others.
    names_agents: bool,
}

impl Scope {
    /// The scope of a request; `None`: the query names agents or users that the caller does not see, so it finds nothing.
    ///
    /// # Errors
    /// `SEARCH_DISABLED`: the search of every agent is disabled.
    pub(super) fn of(gateway: &Gateway, request: &SearchRequest<'_>, query: &Query) -> Result<Option<Self>, Problem> {
        let all = gateway.registry.agent_searches(Some(request.access.tenant()));
        let mut agents: Vec<AgentSearch> = all
            .into_iter()
            .filter(|agent| match &request.agents {
                SearchAgents::Tenant => true,
                SearchAgents::Only(only) => only.contains(&agent.agent),
            })
            .collect();
        let had_agents = !agents.is_empty();
        agents.retain(|agent| agent.is_enabled);
        if agents.is_empty() && had_agents {
            return Err(disabled());
        }
        if let Some(named) = &query.filters.agent {
            agents.retain(|agent| agent.agent == *named);
        }
        let is_hidden = request.audience == SearchAudience::Visitor && query.filters.is_rewound();
        if agents.is_empty() || is_hidden || names_another_user(request, query) {
            return Ok(None);
        }
        let languages: BTreeSet<Language> = agents.iter().filter_map(|agent| agent.language).collect();
        Ok(Some(Self {
            documents: DocumentScope {
                agents: agents.into_iter().map(|agent| agent.agent).collect(),
                owner: owner(request, query),
            },
            languages: languages.into_iter().collect(),
            audience: request.audience,
            names_agents: request.agents != SearchAgents::Tenant,
        }))
    }

    /// The terms of the query in this scope.
    pub(super) fn terms(&self, key: &TermKey, query: &Query) -> QueryTerms {
        let mut terms = key.of_query(query, &self.languages);
        if self.names_agents && self.documents.owner.is_none() {
            let agents = self.documents.agents.iter().map(|agent| key.tag("agent", agent.as_str()));
            terms.any.push(agents.collect());
        }
        if self.audience == SearchAudience::Visitor {
            terms.any.push(vec![
                key.tag("role", "user"),
                key.tag("role", "assistant"),
                key.tag("kind", Kind::Title.as_str()),
            ]);
        }
        terms
    }
}

/// The only owner whose conversations are searched. `None`: those of all.
fn owner(request: &SearchRequest<'_>, query: &Query) -> Option<Owner> {
    let named = query.filters.user.clone().map(Owner::User);
    request.owner.clone().or(named)
}

/// Whether the query names a user whom the caller does not see.
fn names_another_user(request: &SearchRequest<'_>, query: &Query) -> bool {
    match (&request.owner, &query.filters.user) {
        (Some(own), Some(named)) => *own != Owner::User(named.clone()),
        (None, _) | (_, None) => false,
    }
}

fn disabled() -> Problem {
    Problem::new(
        Reason::SearchDisabled,
        "the search is disabled by the settings of the agent or the tenant: an operator enables it",
    )
}
