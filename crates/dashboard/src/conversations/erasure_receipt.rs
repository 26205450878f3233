//! `GET /dashboard/conversations/{id}/erasure`: what every store says about an erased conversation.

use axum::extract::State;
use domain::{CommitId, ConversationId, ConversationKey, Head, Status};
use history::Deadline;
use pages::dashboard::erasure::{ErasureReceipt, erasure};
use runtime::http::{HttpProblem, Path};

use crate::page::Page;
use crate::person::Person;
use http_listener::not_found::not_found;
use http_listener::state::HttpState;

pub(crate) async fn show_receipt(
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
) -> Result<Page, HttpProblem> {
    let (key, head) = read_tombstone(&state, &person, &id).await?;
    let (reader, deadline) = (&state.gateway.reader, Deadline::until(None));
    let messages = deadline.record(reader.record.messages_of(&key)).await?;
    let access = &person.admin.tenant;
    let rows = deadline.rows(read_model::queries::stored_events(&reader.read_model, access, &key.conversation)).await?;
    let receipt = ErasureReceipt {
        id: key.conversation.as_str().to_owned(),
        commit: tombstone(&head),
        erased_at: head.recorded_at,
        // The tombstone stays.
        commits_left: messages.commits.saturating_sub(1),
        parts_left: messages.part_batches,
        logs_left: messages.logged_calls,
        rows_left: rows.count,
    };
    Ok(Page(erasure(person.layout(), &receipt)))
}

/// The head of an erased conversation of the person's tenant.
///
/// # Errors
/// A missing conversation, a foreign one and one that is not erased look alike; 503 if the record does not answer.
pub(super) async fn read_tombstone(
    state: &HttpState,
    person: &Person,
    id: &str,
) -> Result<(ConversationKey, Head), HttpProblem> {
    let conversation = ConversationId::parse(id).map_err(|_| not_found())?;
    let key = ConversationKey { tenant: person.admin.tenant.tenant().clone(), conversation };
    let last =
        Deadline::until(None).record(state.gateway.reader.archive.last_commit(&key)).await?.ok_or_else(not_found)?;
    let head = last.open_head().map_err(|corrupt| conversations::problem::of_corrupt(&corrupt))?;
    if head.status != Status::Erased {
        return Err(not_found());
    }
    Ok((key, head))
}

fn tombstone(head: &Head) -> CommitId {
    let last = head.recent.last();
    last.map_or_else(|| CommitId(uuid::Uuid::nil()), |commit| commit.id)
}
