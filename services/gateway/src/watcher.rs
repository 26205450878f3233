//! Streams one conversation to one caller: the history by pages, then live commits, by version, without gaps or repeats.
//!
//! After a possible loss (a lost connection, a slow caller, a lost message) the watcher reads the record again from the last
//! commit that it sent. Only the responses that are on their way to the caller are buffered.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use domain::{ForkPoint, Version};
use event_log::{LiveItem, LiveSubscription, StoredCommit, StoredMessage};
use history::{
    CommitPosition, Deadline, Direction, Page, PageBounds, Query, Target, commits_after, event_rows,
};
use read_model::EventRow;
use runtime::backoff::Backoff;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::watch_conversation_response::Item;
use wire::status::Problem;

use crate::metrics::{self, Gauge};
use crate::{Gateway, problem, render};

/// Maximum number of buffered responses: at most 4 MiB.
const BUFFERED_RESPONSES_MAX: usize = 8;
/// The bounds of a page of history.
const HISTORY_PAGE: PageBounds = PageBounds {
    events_max: 500,
    bytes_max: 1024 * 1024,
};
/// First wait after a dependency failed.
const RETRY_WAIT_BASE: Duration = Duration::from_millis(50);
/// Maximum wait after a dependency failed.
const RETRY_WAIT_MAX: Duration = Duration::from_secs(2);

/// Limits the number of watchers of a gateway.
#[derive(Debug)]
pub struct Watchers {
    permits: Arc<Semaphore>,
    max: usize,
    idle_check: Duration,
    drain: CancellationToken,
}

/// The permit of one watcher.
#[derive(Debug)]
pub struct WatcherPermit {
    _permit: OwnedSemaphorePermit,
    _gauge: Gauge,
}

impl Watchers {
    /// Allows `watchers_max` concurrent watchers. Each reads the record again after `idle_check` without events. All end when
    /// `drain` is cancelled.
    #[must_use]
    pub fn new(watchers_max: usize, idle_check: Duration, drain: CancellationToken) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(watchers_max)),
            max: watchers_max,
            idle_check,
            drain,
        }
    }

    /// Acquires a permit without waiting.
    ///
    /// # Errors
    /// `OVERLOADED`: `watchers_max` is reached.
    pub fn acquire(&self) -> Result<WatcherPermit, Problem> {
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let permit = permit.map_err(|_| problem::too_many_watchers(self.max))?;
        Ok(WatcherPermit {
            _permit: permit,
            _gauge: Gauge::up("hansard_gateway_watchers"),
        })
    }
}

/// A request to watch a conversation.
#[derive(Debug)]
pub struct Watch {
    /// The conversation.
    pub target: Target,
    /// The first version to send.
    pub from: Version,
    /// The live commits, subscribed before the history is read.
    pub live: LiveSubscription,
    /// The watcher's permit.
    pub permit: WatcherPermit,
    /// The fork point, if the conversation is a fork.
    pub forked_from: Option<ForkPoint>,
}

/// The receiver of responses.
pub type Responses = mpsc::Receiver<Result<proto::WatchConversationResponse, Status>>;

/// The receiver of responses, and the work that sends them, to be spawned. The work ends when the receiver is dropped, the
/// conversation is erased, or the service drains.
pub fn watch(gateway: &Gateway, watch: Watch) -> (Responses, impl Future<Output = ()> + use<>) {
    let (sender, responses) = mpsc::channel(BUFFERED_RESPONSES_MAX);
    let watcher = Watcher {
        gateway: gateway.clone(),
        target: watch.target,
        next: watch.from,
        after: CommitPosition::default(),
        forked_from: watch.forked_from,
        responses: sender,
        _permit: watch.permit,
    };
    (responses, watcher.run(watch.live))
}

struct Watcher {
    gateway: Gateway,
    target: Target,
    /// The version to send next.
    next: Version,
    /// The last commit that was sent completely, or the last one before the requested range.
    after: CommitPosition,
    forked_from: Option<ForkPoint>,
    responses: mpsc::Sender<Result<proto::WatchConversationResponse, Status>>,
    _permit: WatcherPermit,
}

impl Watcher {
    async fn run(mut self, live: LiveSubscription) {
        let (responses, drain) = (self.responses.clone(), self.gateway.watchers.drain.clone());
        let problem = tokio::select! {
            Err(problem) = self.follow(live) => problem,
            () = drain.cancelled() => problem::draining(),
            () = responses.closed() => return,
        };
        // Sending fails only if the caller is gone.
        let _ = responses.send(Err(problem.into())).await;
    }

    async fn follow(&mut self, mut live: LiveSubscription) -> Result<Infallible, Problem> {
        retrying(self, async |watcher| watcher.history().await).await?;
        let version = self.after.version.0;
        self.send(Item::CaughtUp(proto::CaughtUp { version })).await;
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
    async fn history(&mut self) -> Result<(), Problem> {
        loop {
            self.target.deadline = Deadline::until(None);
            let query = Query {
                from: self.next,
                after: self.after,
                ..Query::all(Direction::Forward)
            };
            let reader = &self.gateway.reader;
            let page = Page::recorded(reader, &self.target, query, HISTORY_PAGE).await?;
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

    async fn live_commit(&mut self, message: &StoredMessage) -> Result<(), Problem> {
        if message.position.sequence <= self.after.sequence {
            return Ok(());
        }
        let commit = message
            .open()
            .map_err(|corrupt| problem::of_corrupt(&corrupt))?;
        if commit.opened.commit.first_version == self.after.version.next() {
            return self.send_commit(&commit).await;
        }
        self.reread().await
    }

    /// Sends the commits after a possible loss.
    async fn reread(&mut self) -> Result<(), Problem> {
        metrics::watch_reread();
        retrying(self, async |watcher| watcher.catch_up().await).await
    }

    /// Sends the commits of the record after the last one that was sent.
    async fn catch_up(&mut self) -> Result<(), Problem> {
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

    async fn send_commit(&mut self, commit: &StoredCommit) -> Result<(), Problem> {
        if commit.opened.commit.head.status == domain::Status::Erased {
            return Err(problem::not_found());
        }
        for event in event_rows(commit) {
            self.send_event(event).await?;
        }
        self.after = CommitPosition::of(commit);
        Ok(())
    }

    /// Sends an event, unless it was sent before. A part of its commit may have been sent.
    async fn send_event(&mut self, event: EventRow) -> Result<(), Problem> {
        if event.version < self.next {
            return Ok(());
        }
        if event.version > self.next {
            return Err(problem::of_contradiction(format!(
                "the rows of conversation {} lack version {}",
                self.target.key.conversation, self.next
            )));
        }
        self.next = event.version.next();
        let event = render::recorded_event(&self.target.key, event)?;
        self.send(Item::Event(event)).await;
        Ok(())
    }

    /// Sends an item. Waits while the buffer is full.
    async fn send(&self, item: Item) {
        let response = proto::WatchConversationResponse { item: Some(item) };
        // Sending fails only if the caller is gone; then `run` ends the watcher.
        let _ = self.responses.send(Ok(response)).await;
    }
}

/// Repeats the work while a dependency is unavailable.
async fn retrying(
    watcher: &mut Watcher,
    work: impl AsyncFn(&mut Watcher) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let mut backoff = Backoff::new(RETRY_WAIT_BASE, RETRY_WAIT_MAX);
    loop {
        match work(watcher).await {
            Err(problem) if problem.reason().code() == Code::Unavailable => backoff.wait().await,
            outcome => return outcome,
        };
    }
}
