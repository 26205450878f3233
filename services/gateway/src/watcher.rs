//! One caller who follows one conversation: history by pages, then live by version, without a gap or a repeat.
//!
//! Whatever may have been missed (a lost connection, a slow reader, a lost message) is read again from the record, after
//! the last commit that was sent; so nothing is buffered but what is on its way to the caller.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use domain::{ForkPoint, Status as Stands, Version};
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

use crate::metrics::{self, WatcherGauge};
use crate::{Gateway, problem, render};

/// Responses on their way to a caller who does not take them: at most 4 MiB.
const RESPONSES_ON_THE_WAY_MAX: usize = 8;
/// The bounds of a page of history.
const HISTORY_PAGE: PageBounds = PageBounds {
    events_max: 500,
    bytes_max: 1024 * 1024,
};
/// The first wait after a dependency failed.
const RETRY_WAIT_BASE: Duration = Duration::from_millis(50);
/// The longest wait after a dependency failed.
const RETRY_WAIT_MAX: Duration = Duration::from_secs(2);

/// What watchers keep to.
#[derive(Debug)]
pub struct WatchRules {
    places: Arc<Semaphore>,
    watchers_max: usize,
    idle_check: Duration,
    drain: CancellationToken,
}

/// One watcher's place among those that may be.
#[derive(Debug)]
pub struct WatcherPlace {
    _permit: OwnedSemaphorePermit,
    _gauge: WatcherGauge,
}

impl WatchRules {
    /// At most `watchers_max` at once; each compares itself with the record after `idle_check` without news; all end once
    /// `drain` is cancelled.
    #[must_use]
    pub fn new(watchers_max: usize, idle_check: Duration, drain: CancellationToken) -> Self {
        Self {
            places: Arc::new(Semaphore::new(watchers_max)),
            watchers_max,
            idle_check,
            drain,
        }
    }

    /// A place, at once or not at all.
    ///
    /// # Errors
    /// There is none left.
    pub fn place(&self) -> Result<WatcherPlace, Problem> {
        let permit = Arc::clone(&self.places).try_acquire_owned();
        let permit = permit.map_err(|_| problem::too_many_watchers(self.watchers_max))?;
        Ok(WatcherPlace {
            _permit: permit,
            _gauge: WatcherGauge::up(),
        })
    }
}

/// What to watch.
#[derive(Debug)]
pub struct Watch {
    /// The conversation.
    pub target: Target,
    /// The first version to send.
    pub from: Version,
    /// What is stored from before history is read.
    pub live: LiveSubscription,
    /// The watcher's place.
    pub place: WatcherPlace,
    /// What the conversation goes on from, where it is a fork.
    pub forked_from: Option<ForkPoint>,
}

/// The end of a stream of responses that its caller reads.
pub type Responses = mpsc::Receiver<Result<proto::WatchConversationResponse, Status>>;

/// What is sent to the caller, and the work that sends it, to be spawned. It ends when the caller goes, the conversation
/// is erased, or the service drains.
pub fn watch(gateway: &Gateway, watch: Watch) -> (Responses, impl Future<Output = ()> + use<>) {
    let (sender, responses) = mpsc::channel(RESPONSES_ON_THE_WAY_MAX);
    let watcher = Watcher {
        gateway: gateway.clone(),
        target: watch.target,
        next: watch.from,
        after: CommitPosition::default(),
        forked_from: watch.forked_from,
        responses: sender,
        _place: watch.place,
    };
    (responses, watcher.run(watch.live))
}

struct Watcher {
    gateway: Gateway,
    target: Target,
    /// The version to send next.
    next: Version,
    /// The last commit that was sent whole, or that stands before what was asked for.
    after: CommitPosition,
    forked_from: Option<ForkPoint>,
    responses: mpsc::Sender<Result<proto::WatchConversationResponse, Status>>,
    _place: WatcherPlace,
}

impl Watcher {
    async fn run(mut self, live: LiveSubscription) {
        let (responses, drain) = (self.responses.clone(), self.gateway.watch.drain.clone());
        let problem = tokio::select! {
            Err(problem) = self.follow(live) => problem,
            () = drain.cancelled() => problem::draining(),
            () = responses.closed() => return,
        };
        // It fails when the caller went, who then needs no reason.
        let _ = responses.send(Err(problem.into())).await;
    }

    async fn follow(&mut self, mut live: LiveSubscription) -> Result<Infallible, Problem> {
        retrying(self, async |watcher| watcher.history().await).await?;
        let version = self.after.version.0;
        self.send(Item::CaughtUp(proto::CaughtUp { version })).await;
        let idle_check = self.gateway.watch.idle_check;
        loop {
            match timeout(idle_check, live.next()).await {
                Ok(LiveItem::Commit(message)) => self.live_commit(&message).await?,
                Ok(LiveItem::Gap) => self.reread().await?,
                Err(_) => retrying(self, async |watcher| watcher.catch_up().await).await?,
            }
        }
    }

    /// Sends what there is, by pages over rows and tail.
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

    /// Sends what may have been missed.
    async fn reread(&mut self) -> Result<(), Problem> {
        metrics::watch_reread();
        retrying(self, async |watcher| watcher.catch_up().await).await
    }

    /// Sends what the record holds after the last commit that was sent.
    async fn catch_up(&mut self) -> Result<(), Problem> {
        self.target.deadline = Deadline::until(None);
        // What the caller has seen of the live commits may be more than a replica knows.
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
        check_stands(commit)?;
        for event in event_rows(commit) {
            self.send_event(event).await?;
        }
        self.after = CommitPosition::of(commit);
        Ok(())
    }

    /// Sends an event, unless it was sent before, as part of a commit may have been.
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

    /// Waits until the caller has taken enough of what is on its way.
    async fn send(&self, item: Item) {
        let response = proto::WatchConversationResponse { item: Some(item) };
        // It fails when the caller went, which ends the watcher elsewhere.
        let _ = self.responses.send(Ok(response)).await;
    }
}

/// Does it again for as long as a dependency is away.
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

/// An erased conversation is one that is not there.
fn check_stands(commit: &StoredCommit) -> Result<(), Problem> {
    match commit.opened.commit.head.status {
        Stands::Active | Stands::Archived => Ok(()),
        Stands::Erased => Err(problem::not_found()),
    }
}
