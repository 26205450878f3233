//! Reads the conversations that a filter admits.
//!
//! The lists' indexes select by agent, owner of an agent, status and time. Everything else is examined conversation by
//! conversation, at most [`EXAMINED_MAX`] for a page: a page may be short and still have a next one. So the cost of a page
//! depends neither on earlier pages nor on the size of the tenant.

use std::collections::HashMap;

use domain::event::{Fact, Lifecycle};
use domain::{AgentId, ChannelId, Conversation, ConversationId, Owner, RunOutcome, SessionId, TenantAccess, UserId};
use futures::future::try_join_all;
use history::Deadline;
use pages::dashboard::conversations::ExaminedRange;
use read_model::ReadModel;
use read_model::queries::{self, CONVERSATIONS_PER_READ_MAX, ConversationFacts, ListCursor, ListFilter, ListQuery};
use wire::status::Problem;

use super::conversation_filter::{ConversationFilter, Sort};

/// Conversations of a page.
pub const PAGE_ROWS: usize = 50;
/// Maximum number of conversations that are examined for a page.
pub const EXAMINED_MAX: usize = 5_000;
/// Maximum number of matches that are sorted by a number.
pub const SORTED_MAX: usize = 500;

/// Maximum number of agents whose lists of an owner are read together. In a tenant with more, the owner is examined.
pub const OWNER_AGENTS_MAX: usize = 16;

/// Whose conversations are listed.
#[derive(Debug, Clone, Copy)]
pub struct Tenant<'t> {
    /// The right to read them.
    pub access: &'t TenantAccess,
    /// The agents, for a filter by owner.
    pub agents: &'t [AgentId],
}

/// A conversation of a page.
#[derive(Debug, Clone)]
pub struct Match {
    /// The conversation.
    pub conversation: Conversation,
    /// Errors and failed runs that were found; `None`: not counted yet.
    pub errors: Option<u64>,
}

/// A page of matches.
#[derive(Debug, Default)]
pub struct Matches {
    /// The matches, in the filter's order.
    pub found: Vec<Match>,
    /// Where the next page starts; `None`: this is the last.
    pub next: Option<ListCursor>,
    /// What was examined, if the page ends because of [`EXAMINED_MAX`].
    pub examined: Option<ExaminedRange>,
}

/// The number of errors and failed runs of a conversation, and the outcome of its last run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failures {
    /// Recorded errors and failed runs.
    pub errors: u64,
    /// How the last run ended; `None`: no run has ended.
    pub last_outcome: Option<RunOutcome>,
}

/// Reads a page of the conversations that a filter admits.
///
/// # Errors
/// The rows do not answer.
pub async fn matches(
    model: &ReadModel,
    tenant: Tenant<'_>,
    filter: &ConversationFilter,
    after: Option<ListCursor>,
) -> Result<Matches, Problem> {
    let wanted = match filter.sort {
        Sort::Newest => PAGE_ROWS,
        Sort::Tokens | Sort::Messages | Sort::Errors => SORTED_MAX,
    };
    let mut page = Matches { next: after, ..Matches::default() };
    let mut examined = 0;
    loop {
        let limit = batch_size(filter, wanted);
        let batch = read(model, tenant, filter, page.next.take(), limit).await?;
        let is_last = batch.len() < limit;
        let facts = facts(model, tenant.access, filter, &batch).await?;
        let back_to = batch.last().map(|oldest| oldest.head.last_event_at);
        for conversation in batch {
            let cursor = ListCursor::after(&conversation);
            page.found.extend(admitted(filter, conversation, &facts));
            examined += 1;
            page.next = Some(cursor);
            if page.found.len() == wanted {
                return Ok(sorted(filter, page));
            }
        }
        if is_last {
            page.next = None;
            return Ok(sorted(filter, page));
        }
        if examined >= EXAMINED_MAX {
            let found = page.found.len();
            page.examined = back_to.map(|back_to| ExaminedRange { back_to, found });
            return Ok(sorted(filter, page));
        }
    }
}

/// Errors and failed runs of conversations, by id.
///
/// # Errors
/// The rows do not answer.
pub async fn failures(
    model: &ReadModel,
    access: &TenantAccess,
    ids: &[&str],
) -> Result<HashMap<ConversationId, Failures>, Problem> {
    let facts = Deadline::until(None).rows(queries::conversation_facts(model, access, ids, None, None)).await?;
    let failures = facts.into_iter().map(|facts| {
        let failures = failures_of(&facts);
        (facts.id, failures)
    });
    Ok(failures.collect())
}

/// As many conversations as a page can need at once.
fn batch_size(filter: &ConversationFilter, wanted: usize) -> usize {
    let most = usize::try_from(CONVERSATIONS_PER_READ_MAX).unwrap_or(usize::MAX);
    if filter.examines() { most } else { wanted.saturating_add(1).min(most) }
}

/// The next conversations of all lists, the newest first.
async fn read(
    model: &ReadModel,
    tenant: Tenant<'_>,
    filter: &ConversationFilter,
    after: Option<ListCursor>,
    limit: usize,
) -> Result<Vec<Conversation>, Problem> {
    let lists = list_filters(filter, tenant.agents).into_iter();
    let reads = lists.map(|list| {
        let query = ListQuery {
            filter: list,
            status: filter.status,
            active_after: filter.after,
            active_before: filter.before,
            after: after.clone(),
            limit: u32::try_from(limit).unwrap_or(CONVERSATIONS_PER_READ_MAX),
        };
        async move {
            let read = queries::list_conversations(model, tenant.access, &query);
            Deadline::until(None).rows(read).await
        }
    });
    let mut read = try_join_all(reads).await?.concat();
    read.sort_by(|one, other| ListCursor::after(other).cmp(&ListCursor::after(one)));
    read.truncate(limit);
    Ok(read)
}

/// The narrowest lists that together contain every conversation of the filter.
fn list_filters(filter: &ConversationFilter, agents: &[AgentId]) -> Vec<ListFilter> {
    let agents = filter.agent.as_ref().map_or(agents, std::slice::from_ref);
    if let Some(owner) = &filter.owner
        && (1..=OWNER_AGENTS_MAX).contains(&agents.len())
    {
        let owners = owners(owner);
        let of = |agent: &AgentId| {
            let owners = owners.iter().cloned();
            owners.map(|owner| ListFilter::of(agent.clone(), owner)).collect::<Vec<_>>()
        };
        return agents.iter().flat_map(of).collect();
    }
    let agent = filter.agent.clone();
    vec![agent.map_or(ListFilter::Tenant, ListFilter::Agent)]
}

/// The owners with this id, one of each kind that can have it.
fn owners(id: &str) -> Vec<Owner> {
    let user = UserId::parse(id).ok().map(Owner::User);
    let session = SessionId::parse(id).ok().map(Owner::Session);
    let channel = ChannelId::parse(id).ok().map(Owner::Channel);
    [user, session, channel].into_iter().flatten().collect()
}

async fn facts(
    model: &ReadModel,
    access: &TenantAccess,
    filter: &ConversationFilter,
    batch: &[Conversation],
) -> Result<HashMap<ConversationId, ConversationFacts>, Problem> {
    if !filter.needs_facts() {
        return Ok(HashMap::new());
    }
    let admitted = batch.iter().filter(|one| filter.admits(&one.id, &one.head));
    let ids: Vec<&str> = admitted.map(|one| one.id.as_str()).collect();
    let (named, tool) = (filter.model.as_deref(), filter.tool.as_deref());
    let facts = Deadline::until(None).rows(queries::conversation_facts(model, access, &ids, named, tool)).await?;
    Ok(facts.into_iter().map(|facts| (facts.id.clone(), facts)).collect())
}

fn admitted(
    filter: &ConversationFilter,
    conversation: Conversation,
    facts: &HashMap<ConversationId, ConversationFacts>,
) -> Option<Match> {
    if !filter.admits(&conversation.id, &conversation.head) {
        return None;
    }
    let mut errors = None;
    if filter.needs_facts() {
        let facts = facts.get(&conversation.id)?;
        let failures = failures_of(facts);
        let is_admitted = facts.has_model
            && facts.has_tool
            && filter.errors.is_none_or(|bound| bound.holds(failures.errors))
            && (filter.outcome.is_none() || filter.outcome == failures.last_outcome);
        if !is_admitted {
            return None;
        }
        errors = Some(failures.errors);
    }
    Some(Match { conversation, errors })
}

fn failures_of(facts: &ConversationFacts) -> Failures {
    let outcomes = facts.run_ends.iter().filter_map(|body| {
        // A body that this program cannot read is reported where the conversation is read.
        let event = wire::commit::decode_event(body.clone()).ok()?;
        if let Fact::Lifecycle(Lifecycle::RunFinished(finished)) = event.fact { Some(finished.outcome) } else { None }
    });
    let outcomes: Vec<RunOutcome> = outcomes.collect();
    let failed =
        u64::try_from(outcomes.iter().filter(|outcome| **outcome == RunOutcome::Failed).count()).unwrap_or(u64::MAX);
    Failures { errors: facts.errors.saturating_add(failed), last_outcome: outcomes.first().copied() }
}

/// Sorts by a number, the greatest first; equal ones stay in the order of the last event. Such a page has no next one.
fn sorted(filter: &ConversationFilter, mut page: Matches) -> Matches {
    let value = |one: &Match| {
        let totals = &one.conversation.head.totals;
        match filter.sort {
            Sort::Newest => 0,
            Sort::Tokens => totals.input_tokens.saturating_add(totals.output_tokens),
            Sort::Messages => totals.messages,
            Sort::Errors => one.errors.unwrap_or_default(),
        }
    };
    if filter.sort != Sort::Newest {
        page.found.sort_by_key(|one| std::cmp::Reverse(value(one)));
        page.found.truncate(PAGE_ROWS);
        page.next = None;
    }
    page
}
