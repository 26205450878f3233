//! One reader who follows one run, on any gateway: what is there, then what comes, by part number: no gap, no repeat.
//!
//! Whatever may have been missed is read again from the parts' stream after the last batch that was seen.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use domain::{ConversationKey, RunId, RunPart, Sequence};
use event_log::{LiveParts, LivePartsItem};
use futures::Stream;
use futures::stream::unfold;
use runtime::backoff::Backoff;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tonic::Code;
use wire::status::{Problem, Reason};

use super::head_of;
use super::metrics::Gauge;
use super::parts_log::{self, Batch, is_end};
use crate::{Gateway, problem};
use history::Deadline;

/// After how long without news a follower reads again: what comes live may be lost.
const IDLE_CHECK: Duration = Duration::from_secs(2);
/// The first wait after the record did not answer.
const RETRY_WAIT_BASE: Duration = Duration::from_millis(50);
/// The longest wait after the record did not answer.
const RETRY_WAIT_MAX: Duration = Duration::from_secs(2);

/// What a follower of a run is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    /// The next part.
    Part(RunPart),
    /// The run is over, or never was, and its parts are not kept any more: the committed messages tell what it came to.
    /// Nothing follows.
    Gone,
}

/// The places of those who follow.
#[derive(Debug, Clone)]
pub(super) struct Followers {
    places: Arc<Semaphore>,
    most: usize,
}

impl Followers {
    pub(super) fn new(most: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(most)),
            most,
        }
    }

    fn place(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        place.map_err(|_| {
            let message = format!(
                "{} runs are followed here, which is the most: try again",
                self.most
            );
            Problem::new(Reason::Overloaded, message).retry_after(problem::RETRY_AFTER)
        })
    }
}

/// The parts of a run from a number on. Ends after the run's end, or [`Followed::Gone`]. Dropping it is how to stop.
///
/// # Errors
/// There is no place left, or the record does not answer.
pub(super) async fn follow(
    gateway: &Gateway,
    followers: &Followers,
    key: &ConversationKey,
    run: RunId,
    from_part: u64,
) -> Result<impl Stream<Item = Followed> + Send + use<>, Problem> {
    let place = followers.place()?;
    let live = Deadline::until(None)
        .record(gateway.reader.record.live_parts(key, run))
        .await?;
    let follower = Follower {
        gateway: gateway.clone(),
        key: key.clone(),
        run,
        next: from_part.max(1),
        after: Sequence(0),
        live,
        waiting: VecDeque::new(),
        must_read: true,
        is_over: false,
        _place: place,
        _gauge: Gauge::follower(),
    };
    Ok(unfold(follower, async |mut follower| {
        let told = follower.next().await?;
        Some((told, follower))
    }))
}

#[derive(Debug)]
struct Follower {
    gateway: Gateway,
    key: ConversationKey,
    run: RunId,
    /// The part to tell next.
    next: u64,
    /// The last batch that was read.
    after: Sequence,
    live: LiveParts,
    /// Parts that were read and not told yet.
    waiting: VecDeque<RunPart>,
    /// Whether something may have been missed.
    must_read: bool,
    is_over: bool,
    _place: OwnedSemaphorePermit,
    _gauge: Gauge,
}

impl Follower {
    async fn next(&mut self) -> Option<Followed> {
        loop {
            if let Some(part) = self.waiting.pop_front() {
                self.is_over = is_end(&part);
                return Some(Followed::Part(part));
            }
            if self.is_over {
                return None;
            }
            if self.must_read {
                self.is_over = !self.catch_up().await;
                if self.is_over {
                    return Some(Followed::Gone);
                }
                continue;
            }
            match timeout(IDLE_CHECK, self.live.next()).await {
                Ok(LivePartsItem::Parts(stored)) if stored.sequence > self.after => {
                    let batch = Batch::of(stored, self.run);
                    self.must_read = batch.is_err() || batch.is_ok_and(|batch| !self.take(batch));
                }
                Ok(LivePartsItem::Parts(_)) => {}
                Ok(LivePartsItem::Gap) | Err(_) => self.must_read = true,
            }
        }
    }

    /// Reads what is there, for as long as it takes the record to answer; whether there is or can be more.
    async fn catch_up(&mut self) -> bool {
        let mut backoff = Backoff::new(RETRY_WAIT_BASE, RETRY_WAIT_MAX);
        loop {
            match self.reread().await {
                Ok(goes_on) => return goes_on,
                Err(problem) if problem.reason().code() == Code::Unavailable => {
                    backoff.wait().await;
                }
                Err(_) => return false,
            }
        }
    }

    async fn reread(&mut self) -> Result<bool, Problem> {
        self.must_read = false;
        if !self.read().await? {
            return Ok(false);
        }
        if !self.waiting.is_empty() {
            return Ok(true);
        }
        let head = head_of(&self.gateway, &self.key).await?;
        let active = head.and_then(|head| head.active_run);
        if active.is_some_and(|active| active.id == self.run) {
            return Ok(true);
        }
        // A run that is over had all of its parts in the stream by then.
        Ok(self.read().await? && !self.waiting.is_empty())
    }

    /// Reads one page after another until there is something to tell, or no more; whether what comes next is still kept.
    async fn read(&mut self) -> Result<bool, Problem> {
        loop {
            let page = parts_log::page(&self.gateway, &self.key, self.run, self.after).await?;
            for batch in page.batches {
                if !self.take(batch) {
                    return Ok(false);
                }
            }
            if !page.has_more {
                return Ok(true);
            }
            if !self.waiting.is_empty() {
                // The rest is read once these are told.
                self.must_read = true;
                return Ok(true);
            }
        }
    }

    /// Takes what is new of a batch; whether it follows what was taken before.
    fn take(&mut self, batch: Batch) -> bool {
        for part in batch.parts {
            if part.number > self.next {
                return false;
            }
            if part.number == self.next {
                self.next += 1;
                self.waiting.push_back(part);
            }
        }
        self.after = batch.sequence;
        true
    }
}
