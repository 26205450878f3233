//! One delivery of answers: as a stream of texts that a surface encodes, or whole.
//!
//! The loop owns the drain of the gateway, keep-alives, the end, and the wait for the commit of a recorded answer. A surface gives an
//! [`Encoder`]. An answer that is recorded continues without its client; one that is not ends when the delivery is dropped.

use std::time::Duration;

use bytes::Bytes;
use domain::event::RunStarted;
use domain::{ConversationKey, Fact, RunId, RunPart, RunPartKind};
use futures::future::BoxFuture;
use futures::stream::{BoxStream, unfold};
use futures::{FutureExt as _, Stream, StreamExt as _};
use runs::sse::KEEP_ALIVE;
use runs::{Interruption, Outcome, RunFold};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;
use wire::status::Problem;

use crate::positions::record_write;
use generation::{FollowItem, Generations};

/// A stream sends a keep-alive after this time without a part.
pub const HEARTBEAT: Duration = Duration::from_secs(15);

/// An answer that is on its way.
pub struct Answer {
    /// The conversation and the run in which it is recorded; `None`: it is not.
    recorded_in: Option<(ConversationKey, RunId)>,
    /// The parts of the run, from the first.
    parts: BoxStream<'static, FollowItem>,
    /// Completes when the answer is recorded, at most ten seconds after its last part. Later reads of the request include it.
    recorded: BoxFuture<'static, ()>,
}

/// What a surface writes for an answer. Pure: equal parts give equal texts, so that a client can resume.
pub trait Encoder: Send + 'static {
    /// The text before the first part.
    ///
    /// # Errors
    /// A document that is sent again cannot be written.
    fn opening(&mut self) -> Result<String, Unreadable>;

    /// The text of a part, also of the last one, before the answer is recorded. `fold` contains the part.
    ///
    /// # Errors
    /// A document in the part cannot be written.
    fn part(&mut self, part: RunPart, fold: &RunFold) -> Result<String, Unreadable>;

    /// The last text of an answer that ended, after it is recorded.
    fn end(&mut self, outcome: &Outcome, fold: &RunFold) -> String;

    /// The last text of a delivery that ends before the answer.
    fn interrupted(&mut self, reason: Interruption) -> String;
}

/// A part cannot be read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

/// A whole answer.
#[derive(Debug)]
pub struct WholeAnswer {
    /// The run in which it is recorded; `None`: it is not.
    pub run: Option<RunId>,
    /// What the run came to: messages, calls and results.
    pub facts: Vec<Fact>,
    /// How it ended.
    pub outcome: Outcome,
}

impl Answer {
    /// The answer of a recorded run.
    ///
    /// # Errors
    /// As [`Generations::follow`].
    pub async fn of_run(generations: &Generations, key: &ConversationKey, run: RunId) -> Result<Self, Problem> {
        let parts = generations.follow(key, run, 1).await?.boxed();
        let (waiting, conversation) = (generations.clone(), key.clone());
        let recorded = async move {
            if let Some(position) = waiting.recorded(&conversation, run).await {
                record_write(&position.encode());
            }
        };
        Ok(Self { recorded_in: Some((key.clone(), run)), parts, recorded: recorded.boxed() })
    }

    /// An answer that is not recorded, of these parts.
    #[must_use]
    pub fn unrecorded(parts: BoxStream<'static, FollowItem>) -> Self {
        Self { recorded_in: None, parts, recorded: std::future::ready(()).boxed() }
    }

    /// The conversation and the run in which it is recorded; `None`: it is not.
    #[must_use]
    pub fn recorded_in(&self) -> Option<&(ConversationKey, RunId)> {
        self.recorded_in.as_ref()
    }

    /// The same answer, of `parts` if its own are not stored any more.
    pub async fn or_parts(mut self, parts: impl FnOnce() -> Vec<RunPart>) -> Self {
        match self.parts.next().await {
            Some(FollowItem::Gone) | None => {
                self.parts = futures::stream::iter(parts()).map(FollowItem::Part).boxed();
            }
            Some(first) => self.put_back([first]),
        }
        self
    }

    /// Waits for the first part that is more than a keep-alive, at most for `wait`.
    ///
    /// # Errors
    /// What `failure` makes of an answer that ends before.
    pub async fn begun<E>(
        mut self,
        wait: Duration,
        draining: &CancellationToken,
        failure: impl FnOnce(&Outcome) -> Option<E>,
    ) -> Result<Self, E> {
        let (mut fold, mut parts) = (new_fold(), Vec::new());
        let first = async {
            loop {
                let part = next_part(&mut self.parts, draining, &mut fold).await?;
                let is_first = !matches!(part.kind, RunPartKind::KeptAlive);
                parts.push(FollowItem::Part(part));
                if is_first {
                    return Ok(());
                }
            }
        };
        let ended = match timeout(wait, first).await {
            Ok(Err(reason)) => Some(Outcome::Interrupted(reason)),
            Ok(Ok(())) | Err(_) => outcome(&fold),
        };
        if let Some(failure) = ended.as_ref().and_then(failure) {
            return Err(failure);
        }
        self.put_back(parts);
        Ok(self)
    }

    /// Whether parts are stored, or will be. For runs that are over: an active run may wait for its first part.
    pub async fn is_stored(&mut self) -> bool {
        match self.parts.next().await {
            Some(FollowItem::Part(first)) => {
                self.put_back([FollowItem::Part(first)]);
                true
            }
            Some(FollowItem::Gone) | None => false,
        }
    }

    /// Whether all parts are stored, and one of them follows the part of this number.
    pub async fn has_more(mut self, number: u64) -> bool {
        while let Some(FollowItem::Part(part)) = self.parts.next().await {
            if part.number > number {
                return true;
            }
        }
        false
    }

    fn put_back(&mut self, first: impl IntoIterator<Item = FollowItem>) {
        let rest = std::mem::replace(&mut self.parts, futures::stream::empty().boxed());
        self.parts = futures::stream::iter(first.into_iter().collect::<Vec<_>>()).chain(rest).boxed();
    }

    /// The texts of the answer, as a surface encodes it. Ends soon after `draining` is cancelled.
    pub fn stream<E: Encoder>(self, encoder: E, draining: CancellationToken) -> impl Stream<Item = Bytes> + Send {
        let delivery = Delivery { answer: self, encoder, draining, fold: new_fold(), stage: Stage::Opening };
        unfold(delivery, async |mut delivery| {
            loop {
                let text = delivery.next().await?;
                if !text.is_empty() {
                    return Some((Bytes::from(text), delivery));
                }
            }
        })
    }

    /// Reads the answer to its end, and waits until it is recorded. Ends early when `draining` is cancelled.
    pub async fn whole(mut self, draining: CancellationToken) -> WholeAnswer {
        let mut fold = new_fold();
        let outcome = loop {
            if let Some(outcome) = outcome(&fold) {
                break outcome;
            }
            if let Err(reason) = next_part(&mut self.parts, &draining, &mut fold).await {
                break Outcome::Interrupted(reason);
            }
        };
        if !matches!(outcome, Outcome::Interrupted(_)) {
            self.recorded.await;
        }
        WholeAnswer { run: self.recorded_in.map(|(_, run)| run), facts: fold.facts(), outcome }
    }
}

/// What a delivery does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Opening,
    Parts,
    Over,
}

/// The delivery of one answer to one client.
struct Delivery<E> {
    answer: Answer,
    encoder: E,
    draining: CancellationToken,
    fold: RunFold,
    stage: Stage,
}

impl<E: Encoder> Delivery<E> {
    /// The next text, which may be empty; `None`: the delivery has ended.
    async fn next(&mut self) -> Option<String> {
        match self.stage {
            Stage::Opening => {
                self.stage = Stage::Parts;
                let opening = self.encoder.opening();
                Some(self.written(opening))
            }
            Stage::Parts => Some(self.next_text().await),
            Stage::Over => None,
        }
    }

    async fn next_text(&mut self) -> String {
        if let Some(outcome) = outcome(&self.fold) {
            self.stage = Stage::Over;
            (&mut self.answer.recorded).await;
            return self.encoder.end(&outcome, &self.fold);
        }
        let next = next_part(&mut self.answer.parts, &self.draining, &mut self.fold);
        let Ok(next) = timeout(HEARTBEAT, next).await else {
            return KEEP_ALIVE.to_owned();
        };
        match next {
            Ok(part) => {
                let text = self.encoder.part(part, &self.fold);
                self.written(text)
            }
            Err(reason) => self.interrupt(reason),
        }
    }

    /// The text, or the last one if it cannot be written.
    fn written(&mut self, text: Result<String, Unreadable>) -> String {
        text.unwrap_or_else(|Unreadable| {
            tracing::error!("a recorded document of a run cannot be written");
            self.interrupt(Interruption::Unreadable)
        })
    }

    fn interrupt(&mut self, reason: Interruption) -> String {
        self.stage = Stage::Over;
        self.encoder.interrupted(reason)
    }
}

/// The next part, which the fold then contains.
async fn next_part(
    parts: &mut BoxStream<'static, FollowItem>,
    draining: &CancellationToken,
    fold: &mut RunFold,
) -> Result<RunPart, Interruption> {
    let followed = tokio::select! {
        biased;
        () = draining.cancelled() => return Err(Interruption::Draining),
        followed = parts.next() => followed,
    };
    let Some(FollowItem::Part(part)) = followed else {
        return Err(Interruption::Gone);
    };
    match fold.absorb(&part) {
        Ok(()) => Ok(part),
        Err(error) => {
            tracing::error!(%error, "the parts of a run cannot be folded");
            Err(Interruption::Unreadable)
        }
    }
}

fn outcome(fold: &RunFold) -> Option<Outcome> {
    Some(Outcome::of(fold.end()?, &fold.facts()))
}

/// A fold without parts. Its facts do not depend on the start of the run.
fn new_fold() -> RunFold {
    RunFold::new(RunStarted { run: RunId(Uuid::nil()), model: None, provider: None })
}

#[cfg(test)]
mod tests;
