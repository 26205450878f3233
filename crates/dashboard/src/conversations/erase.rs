//! `/dashboard/conversations/{id}/erase`: what an erasure would remove, and the erasure.

pub mod erase_conversation;
pub mod show_erasure_plan;

use domain::ConversationId;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use history::{Deadline, Freshness, Target};
use pages::dashboard::erasure::{ErasePage, ToErase, erase};
use registry::AgentAccess;
use runtime::http::HttpProblem;

use crate::page::Page;
use crate::person::Person;
use conversations::forks::{FORKS_MAX, list_forks};
use conversations::open::read_conversation;
use http_listener::state::HttpState;

/// Conversations whose content is counted concurrently.
const COUNTS_IN_FLIGHT: usize = 8;

/// What an erasure removes: the conversation, and then its forks, the nearest first.
struct ErasurePlan {
    removed: Vec<ToErase>,
    has_too_many_forks: bool,
}

async fn plan(state: &HttpState, target: &Target) -> Result<ErasurePlan, HttpProblem> {
    let conversation = &target.key.conversation;
    let mut forks = list_forks(state, &target.access, conversation, FORKS_MAX + 1).await?;
    let most = usize::try_from(FORKS_MAX).unwrap_or(usize::MAX);
    let has_too_many_forks = forks.len() > most;
    forks.truncate(most);
    let ids = std::iter::once(conversation.clone()).chain(forks.into_iter().map(|fork| fork.id));
    let counts = ids.map(|id| to_erase(state, &target.access, id));
    let removed = stream::iter(counts).buffered(COUNTS_IN_FLIGHT);
    Ok(ErasurePlan { removed: removed.try_collect().await?, has_too_many_forks })
}

/// The content of one conversation in every store. The record and the rows are counted; the archive has the other commits.
async fn to_erase(state: &HttpState, access: &AgentAccess, id: ConversationId) -> Result<ToErase, HttpProblem> {
    let target = Target {
        key: domain::ConversationKey { tenant: access.tenant.tenant().clone(), conversation: id },
        access: access.clone(),
        freshness: Freshness::Leader,
        fence: None,
        deadline: Deadline::until(None),
    };
    let (conversation, _) = read_conversation(state, &target).await?;
    let reader = &state.gateway.reader;
    let messages = target.deadline.record(reader.record.messages_of(&target.key)).await?;
    let rows = target
        .deadline
        .rows(read_model::queries::stored_events(&reader.read_model, &access.tenant, &conversation.id))
        .await?;
    let head = &conversation.head;
    let inherited = head.forked_from.as_ref().map_or(0, |point| point.version.0);
    Ok(ToErase {
        events: head.version.0.saturating_sub(inherited),
        event_bytes: rows.size_bytes,
        commits: messages.commits,
        archived_commits: head.totals.commits.saturating_sub(messages.commits),
        part_batches: messages.part_batches,
        logged_calls: messages.logged_calls,
        id: conversation.id.as_str().to_owned(),
    })
}

fn page(person: &Person, plan: &ErasurePlan, error: Option<&str>) -> Page {
    Page(erase(ErasePage {
        person: person.layout(),
        removed: &plan.removed,
        has_too_many_forks: plan.has_too_many_forks,
        error,
    }))
}
