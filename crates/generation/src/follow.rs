//! Follows a run on any gateway: the stored parts, then the live parts, by part number, without gaps or repeats.
//!
//! After a possible loss, the follower reads the stream of parts again from the last batch that it saw.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use backoff::Backoff;
use domain::{ConversationKey, RunId, RunPart, Sequence};
use event_log::{LiveParts, LivePartsItem};
use futures::Stream;
use futures::stream::unfold;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use tonic::Code;
use wire::status::{Problem, Reason};

use super::parts_log::{self, Batch, is_end};
use super::{Generations, read_head};
use history::Deadline;
use record_access::metrics::Gauge;
use record_access::{Gateway, problem};

/// A follower reads the stream again after this long without live parts: live messages can be lost.
const IDLE_CHECK: Duration = Duration::from_secs(2);
/// First wait after the record did not answer.
const RETRY_WAIT_BASE: Duration = Duration::from_millis(50);
/// Maximum wait after the record did not answer.
const RETRY_WAIT_MAX: Duration = Duration::from_secs(2);

/// An item of the stream that a follower of a run receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowItem {
    /// The next part.
    Part(RunPart),
    /// The run is over or never existed, and its parts are not stored any more. The committed messages hold its result.
    /// Nothing follows.
    Gone,
}

impl Generations {
    /// The parts of a run of any gateway from the part `from_part`: the stored ones, then the live ones, each once. Ends
    /// after the run's end, or after [`FollowItem::Gone`]. Drop the stream to stop. The caller checks access first.
    ///
    /// # Errors
    /// `followers_max` is reached, or the record does not answer.
    pub async fn follow(
        &self,
        key: &ConversationKey,
        run: RunId,
        from_part: u64,
    ) -> Result<impl Stream<Item = FollowItem> + Send + use<>, Problem> {
        let permit = Arc::clone(&self.followers)
            .try_acquire_owned()
            .map_err(|_| too_many_followers(self.config.followers_max))?;
        let live = self.gateway.reader.record.live_parts(key, run);
        let follower = Follower {
            gateway: self.gateway.clone(),
            key: key.clone(),
            run,
            next: from_part.max(1),
            after: Sequence(0),
            live: Deadline::until(None).record(live).await?,
            queue: VecDeque::new(),
            must_read: true,
            is_over: false,
            _permit: permit,
            _gauge: Gauge::up("hansard_gateway_run_followers"),
        };
        Ok(unfold(follower, async |mut follower| {
            let item = follower.next().await?;
            Some((item, follower))
        }))
    }
}

fn too_many_followers(followers_max: usize) -> Problem {
    let message = format!("this gateway has {followers_max} followers of runs, its maximum: try again");
    Problem::new(Reason::Overloaded, message).retry_after(problem::RETRY_AFTER)
}

#[derive(Debug)]
struct Follower {
    gateway: Gateway,
    key: ConversationKey,
    run: RunId,
    /// The number of the next part to read.
    next: u64,
    /// The last batch that was read.
    after: Sequence,
    live: LiveParts,
    /// Parts that were read and not returned yet.
    queue: VecDeque<RunPart>,
    /// Whether live parts may be lost.
    must_read: bool,
    is_over: bool,
    _permit: OwnedSemaphorePermit,
    _gauge: Gauge,
}

impl Follower {
    async fn next(&mut self) -> Option<FollowItem> {
        loop {
            if let Some(part) = self.queue.pop_front() {
                self.is_over = is_end(&part);
                return Some(FollowItem::Part(part));
            }
            if self.is_over {
                return None;
            }
            if self.must_read {
                self.is_over = !self.catch_up().await;
                if self.is_over {
                    return Some(FollowItem::Gone);
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

    /// Reads the stored parts, with retries without limit. Returns whether there are or can be more parts.
    async fn catch_up(&mut self) -> bool {
        let mut backoff = Backoff::new(RETRY_WAIT_BASE, RETRY_WAIT_MAX);
        loop {
            match self.reread().await {
                Ok(continues) => return continues,
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
        if !self.queue.is_empty() {
            return Ok(true);
        }
        let head = read_head(&self.gateway, &self.key).await?;
        let active = head.and_then(|head| head.active_run);
        if active.is_some_and(|active| active.id == self.run) {
            return Ok(true);
        }
        // All parts of a finished run are in the stream.
        Ok(self.read().await? && !self.queue.is_empty())
    }

    /// Reads pages until a part is queued or the stream ends. Returns whether the next part can still be stored.
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
            if !self.queue.is_empty() {
                // The rest is read after these parts are returned.
                self.must_read = true;
                return Ok(true);
            }
        }
    }

    /// Queues the new parts of a batch. Returns whether the batch continues the parts from before.
    fn take(&mut self, batch: Batch) -> bool {
        for part in batch.parts {
            if part.number > self.next {
                return false;
            }
            if part.number == self.next {
                self.next += 1;
                self.queue.push_back(part);
            }
        }
        self.after = batch.sequence;
        true
    }
}
