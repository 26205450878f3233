//! A turn by a history that the caller gave, kept in a session: what is new of the history, and the answer, as one commit.

use domain::event::MessageAppended;
use domain::{Fact, RunEnd, RunOutcome, RunPart, RunPartKind};
use futures::StreamExt as _;
use futures::stream::{BoxStream, unfold};
use keyed_history::merge::new_turns;
use runs::RunFold;
use tonic::Status;
use wire::proto::write::v1 as write;

use crate::generation::Followed;
use crate::history_rpc::stored::{self, End};
use crate::http::chats::owned::Owned;
use crate::http::idempotency::IdempotencyKey;
use crate::http::state::HttpState;
use crate::http::talk::reply::started;

/// What is to be kept, and where.
#[derive(Debug)]
pub(super) struct Keeping {
    pub(super) session: Owned,
    /// The history as the caller gave it.
    pub(super) messages: Vec<MessageAppended>,
    /// Names the commit for all retries.
    pub(super) key: IdempotencyKey,
}

/// The same parts; the end is told once what it came to is kept, or as a failure where it could not be.
pub(super) fn kept(
    state: HttpState,
    keeping: Keeping,
    parts: BoxStream<'static, Followed>,
) -> BoxStream<'static, Followed> {
    let hearing = Hearing {
        state,
        keeping,
        parts,
        fold: RunFold::new(started(None)),
    };
    let told = unfold(hearing, async |mut hearing| {
        let told = hearing.next().await?;
        Some((told, hearing))
    });
    told.boxed()
}

struct Hearing {
    state: HttpState,
    keeping: Keeping,
    parts: BoxStream<'static, Followed>,
    fold: RunFold,
}

impl Hearing {
    async fn next(&mut self) -> Option<Followed> {
        let followed = self.parts.next().await?;
        let Followed::Part(part) = &followed else {
            return Some(followed);
        };
        let is_whole = self.fold.absorb(part).is_ok();
        let completed = matches!(&part.kind, RunPartKind::RunEnded(end) if end.outcome == RunOutcome::Completed);
        if !completed {
            return Some(followed);
        }
        let facts = self.fold.facts();
        if is_whole && keep(&self.state, &self.keeping, facts).await.is_ok() {
            return Some(followed);
        }
        Some(Followed::Part(RunPart {
            number: part.number,
            kind: RunPartKind::RunEnded(RunEnd {
                outcome: RunOutcome::Failed,
                error: None,
            }),
        }))
    }
}

/// Appends what is new of the history and the answer.
async fn keep(state: &HttpState, keeping: &Keeping, answer: Vec<Fact>) -> Result<(), Status> {
    let end = End {
        messages: keeping.messages.len(),
        seen: None,
    };
    let stored = stored::read(&state.gateway, &keeping.session.target, end).await?;
    let stored = stored.unwrap_or_default();
    let new = new_turns(stored.seen_at(None), &keeping.messages);
    let new = new
        .into_iter()
        .filter_map(|place| keeping.messages.get(place));
    let facts = new.cloned().map(Fact::MessageAppended).chain(answer);
    let events = facts.map(|fact| wire::event::of_fact(&fact));
    let request = write::AppendEventsRequest {
        target: Some(keeping.session.command_target(keeping.key.text())),
        events: events.collect(),
    };
    state.generations.append(request).await.map(|_| ())
}
