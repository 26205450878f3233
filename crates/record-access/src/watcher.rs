//! Streams one conversation to one caller: the history by pages, then live commits, by version, without gaps or repeats.
//!
//! After a possible loss (a lost connection, a slow caller, a lost message) the watcher reads the record again from the last
//! commit that it sent. Only the responses that are on their way to the caller are buffered.

mod permits;
mod subscription;

use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use backoff::Backoff;
use domain::{ForkPoint, Version};
use event_log::{LiveItem, LiveSubscription, StoredCommit, StoredMessage};
use history::{Bounds, CommitPosition, Deadline, Direction, Page, Range, Target, commits_after, event_rows};
use read_model::EventRow;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::Code;
use wire::status::{Problem, Reason};

pub use permits::{WatcherPermit, Watchers};
pub use subscription::Subscription;

use crate::{Gateway, metrics, problem};

/// Maximum number of buffered items: at most 4 MiB.
const BUFFERED_ITEMS_MAX: usize = 8;
/// The bounds of a page of history.
const HISTORY_PAGE: Bounds = Bounds { events_max: 500, bytes_max: 1024 * 1024 };
/// First wait after a dependency failed.
const RETRY_WAIT_BASE: Duration = Duration::from_millis(50);
/// Maximum wait after a dependency failed.
const RETRY_WAIT_MAX: Duration = Duration::from_secs(2);

/// An item of the stream that a caller receives.
#[derive(Debug)]
pub enum WatchItem {
    /// The next event.
    Event(EventRow),
    /// The history is complete up to this version. Later events follow when they are recorded.
    CaughtUp(Version),
}

/// Why a watcher ended. Nothing follows.
#[derive(Debug)]
pub enum WatchEnd {
    /// The conversation was erased, the service drains, or the record cannot be read.
    Failed(Problem),
    /// The caller received no item for this long.
    TooSlow(Duration),
}

impl From<Problem> for WatchEnd {
    fn from(problem: Problem) -> Self {
        Self::Failed(problem)
    }
}

impl From<WatchEnd> for Problem {
    fn from(end: WatchEnd) -> Self {
        match end {
            WatchEnd::Failed(problem) => problem,
            WatchEnd::TooSlow(pause) => {
                let message = format!("the caller received nothing for {pause:?}: watch from the next version");
                Self::new(Reason::Overloaded, message).retry_after(problem::RETRY_AFTER)
            }
        }
    }
}

/// What to watch, and how long the caller may pause.
#[derive(Debug)]
pub struct Watch {
    /// The conversation.
    pub subscription: Subscription,
    /// The first version to send; at most the one after the last.
    pub from: Version,
    /// The watcher ends if the caller receives no item for this long; `None`: it waits.
    pub pause_max: Option<Duration>,
}

/// The receiver of items.
pub type Items = mpsc::Receiver<Result<WatchItem, WatchEnd>>;

/// The receiver of items, and the work that sends them, to be spawned. The work ends when the receiver is dropped, the
/// conversation is erased, or the service drains.
pub fn watch(gateway: &Gateway, watch: Watch) -> (Items, impl Future<Output = ()> + use<>) {
    let (sender, items) = mpsc::channel(BUFFERED_ITEMS_MAX);
    let subscription = watch.subscription;
    let watcher = Watcher {
        gateway: gateway.clone(),
        target: subscription.target,
        next: watch.from,
        after: CommitPosition::default(),
        forked_from: subscription.forked_from,
        items: sender,
        pause_max: watch.pause_max,
        _permit: subscription.permit,
    };
    (items, watcher.run(subscription.live))
}

struct Watcher {
    gateway: Gateway,
    target: Target,
    /// The version to send next.
    next: Version,
    /// The last commit that was sent completely, or the last one before the requested range.
    after: CommitPosition,
    forked_from: Option<ForkPoint>,
    items: mpsc::Sender<Result<WatchItem, WatchEnd>>,
    pause_max: Option<Duration>,
    _permit: WatcherPermit,
}

impl Watcher {
    async fn run(mut self, live: LiveSubscription) {
        let (items, drain) = (self.items.clone(), self.gateway.watchers.drain.clone());
        let end = tokio::select! {
            Err(end) = self.follow(live) => end,
            () = drain.cancelled() => problem::draining().into(),
            () = items.closed() => return,
        };
        // Sending fails only if the caller is gone.
        let _ = items.send(Err(end)).await;
    }

    async fn follow(&mut self, mut live: LiveSubscription) -> Result<Infallible, WatchEnd> {
        retrying(self, async |watcher| watcher.history().await).await?;
        self.send(WatchItem::CaughtUp(self.after.version)).await?;
        let idle_check = self.gateway.watchers.idle_check;
        loop {
            match timeout(idle_check, live.next()).await {
                Ok(LiveItem::Commit(message)) => self.live_commit(&message).await?,
                Ok(LiveItem::Gap) => self.reread().await?,
                Err(_) => retrying(self, async |watcher| watcher.catch_up().await).await?,
            }
        }
    }

    /// Sends the history by pages, from rows and tail.
    async fn history(&mut self) -> Result<(), WatchEnd> {
        loop {
            self.target.deadline = Deadline::until(None);
            let range = Range { from: self.next, after: self.after, ..Range::all(Direction::Forward) };
            let reader = &self.gateway.reader;
            let page = Page::recorded(reader, &self.target, range, HISTORY_PAGE).await?;
            for event in page.events {
                self.send_event(event).await?;
            }
            let Some(next) = page.next else {
                self.after = page.position;
                return Ok(());
            };
            self.after = next.after;
        }
    }

    async fn live_commit(&mut self, message: &StoredMessage) -> Result<(), WatchEnd> {
        if message.position.sequence <= self.after.sequence {
            return Ok(());
        }
        let commit = message.open().map_err(|corrupt| problem::of_corrupt(&corrupt))?;
        if commit.opened.commit.first_version == self.after.version.next() {
            return self.send_commit(&commit).await;
        }
        self.reread().await
    }

    /// Sends the commits after a possible loss.
    async fn reread(&mut self) -> Result<(), WatchEnd> {
        metrics::watch_reread();
        retrying(self, async |watcher| watcher.catch_up().await).await
    }

    /// Sends the commits of the record after the last one that was sent.
    async fn catch_up(&mut self) -> Result<(), WatchEnd> {
        self.target.deadline = Deadline::until(None);
        let (gateway, forked_from) = (self.gateway.clone(), self.forked_from.as_ref());
        let reader = &gateway.reader;
        let tail = commits_after(reader, &self.target, self.after, forked_from).await?;
        let Some(mut tail) = tail else {
            return Ok(());
        };
        while let Some(commits) = tail.next_page(reader, self.target.deadline).await? {
            for commit in &commits {
                self.send_commit(commit).await?;
            }
        }
        Ok(())
    }

    async fn send_commit(&mut self, commit: &StoredCommit) -> Result<(), WatchEnd> {
        if commit.opened.commit.head.status == domain::Status::Erased {
            return Err(problem::not_found().into());
        }
        for event in event_rows(commit) {
            self.send_event(event).await?;
        }
        self.after = CommitPosition::of(commit);
        Ok(())
    }

    /// Sends an event, unless it was sent before. A part of its commit may have been sent.
    async fn send_event(&mut self, event: EventRow) -> Result<(), WatchEnd> {
        if event.version < self.next {
            return Ok(());
        }
        if event.version > self.next {
            return Err(problem::of_contradiction(format!(
                "the rows of conversation {} lack version {}",
                self.target.key.conversation, self.next
            ))
            .into());
        }
        self.next = event.version.next();
        self.send(WatchItem::Event(event)).await
    }

    /// Sends an item. Waits while the buffer is full.
    async fn send(&self, item: WatchItem) -> Result<(), WatchEnd> {
        let sending = self.items.send(Ok(item));
        // Sending fails only if the caller is gone; then `run` ends the watcher.
        let _ = match self.pause_max {
            None => sending.await,
            Some(pause) => timeout(pause, sending).await.map_err(|_| WatchEnd::TooSlow(pause))?,
        };
        Ok(())
    }
}

/// Repeats the work while a dependency is unavailable.
async fn retrying(
    watcher: &mut Watcher,
    work: impl AsyncFn(&mut Watcher) -> Result<(), WatchEnd>,
) -> Result<(), WatchEnd> {
    let mut backoff = Backoff::new(RETRY_WAIT_BASE, RETRY_WAIT_MAX);
    loop {
        match work(watcher).await {
            Err(WatchEnd::Failed(problem)) if problem.reason().code() == Code::Unavailable => backoff.wait().await,
            outcome => return outcome,
        };
    }
}
