//! Follows the audit log of a tenant: the logs of its months one after another, without gaps or repeats.
//!
//! A month is complete when the log of a later one exists: the writer archives it before it creates the next one. Then the rest of it is
//! sent, and the next log follows. No clock decides it.

use std::future::Future;
use std::time::Duration;

use domain::{ConversationKey, TenantAccess, Timestamp, Version};
use history::decode;
use read_model::EventRow;
use runtime::clock::Clock;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tracing::Instrument as _;
use wire::audit::{AuditEntry, AuditMonth};
use wire::status::Problem;

use super::{AuditFilter, AuditPosition, log};
use crate::request::Call;
use crate::watcher::{Items, Subscription, Watch, WatchItem, watch};
use crate::{Gateway, problem};

/// Maximum number of entries that wait for the caller.
const BUFFERED_ENTRIES_MAX: usize = 64;
/// How often a follower looks for the log of a later month, and checks the caller's token.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// What to follow.
#[derive(Debug)]
pub struct Following {
    /// The tenant.
    pub tenant: TenantAccess,
    /// The caller, whose access is checked while the stream is open.
    pub call: Call,
    /// The first entry is after this position.
    pub after: AuditPosition,
    /// Only entries of this time or later.
    pub since: Timestamp,
    /// Only matching entries.
    pub filter: AuditFilter,
    /// Whether new entries follow after the history.
    pub is_live: bool,
    /// The clock.
    pub clock: Clock,
}

/// An entry, its position, and when it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Followed {
    /// The position.
    pub position: AuditPosition,
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// The entry.
    pub entry: AuditEntry,
}

/// The receiver of entries, and the work that sends them, to be spawned. The work ends when the receiver is dropped, the caller loses its
/// access, or the service drains.
pub fn follow(
    gateway: &Gateway,
    following: Following,
) -> (mpsc::Receiver<Result<Followed, Problem>>, impl Future<Output = ()> + use<>) {
    let (sender, receiver) = mpsc::channel(BUFFERED_ENTRIES_MAX);
    let follower = Follower { gateway: gateway.clone(), following, entries: sender };
    (receiver, follower.run())
}

/// Why a log is not read on.
enum LogEnd {
    /// All of it was sent, and none follows in it.
    Complete,
    /// The caller is gone.
    Closed,
}

struct Follower {
    gateway: Gateway,
    following: Following,
    entries: mpsc::Sender<Result<Followed, Problem>>,
}

impl Follower {
    async fn run(self) {
        let entries = self.entries.clone();
        let drain = self.gateway.watchers.drain().clone();
        let end = tokio::select! {
            end = self.logs() => end,
            () = drain.cancelled() => Err(problem::draining()),
            () = entries.closed() => return,
        };
        if let Err(problem) = end {
            // Sending fails only if the caller is gone.
            let _ = entries.send(Err(problem)).await;
        }
    }

    /// Sends the logs from the first one on.
    async fn logs(&self) -> Result<(), Problem> {
        let AuditPosition { month: mut from, version: mut after } = self.start();
        loop {
            let Some((month, _)) = self.first_from(from).await? else {
                if !self.following.is_live {
                    return Ok(());
                }
                tokio::time::sleep(CHECK_INTERVAL).await;
                self.check_access().await?;
                continue;
            };
            let after_in_log = if month == from { after } else { Version::ZERO };
            if let LogEnd::Closed = self.log(month, after_in_log).await? {
                return Ok(());
            }
            (from, after) = (month.later(), Version::ZERO);
        }
    }

    /// The position to start after. No log is older than the tenant.
    fn start(&self) -> AuditPosition {
        let asked = self.following.after;
        match log::first_month(&self.gateway, &self.following.tenant) {
            Some(first) if first > asked.month => AuditPosition::start_of(first),
            Some(_) | None => asked,
        }
    }

    async fn first_from(&self, month: AuditMonth) -> Result<Option<(AuditMonth, Version)>, Problem> {
        let now = Timestamp(self.following.clock.now_nanos());
        log::first_from(&self.gateway, &self.following.tenant, month, now).await
    }

    /// Sends the log of a month after a version, until it is complete.
    async fn log(&self, month: AuditMonth, after: Version) -> Result<LogEnd, Problem> {
        let subscription = Subscription::open(&self.gateway, log::target(&self.following.tenant, month)?).await?;
        let from = after.next();
        if from > subscription.version.next() {
            return Err(unknown_position());
        }
        let (mut items, work) = watch(&self.gateway, Watch { subscription, from, pause_max: None });
        // It ends when `items` is dropped.
        tokio::spawn(work.in_current_span());
        self.items(month, from, &mut items).await
    }

    async fn items(&self, month: AuditMonth, from: Version, items: &mut Items) -> Result<LogEnd, Problem> {
        let key = log::key(&self.following.tenant, month)?;
        let mut checks = interval_at(Instant::now() + CHECK_INTERVAL, CHECK_INTERVAL);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The version to send next, and the last one of a complete log.
        let (mut next, mut last) = (from, None);
        while last.is_none_or(|last| next <= last) {
            tokio::select! {
                item = items.recv() => match item {
                    Some(Ok(WatchItem::Event(row))) => {
                        next = row.version.next();
                        self.send(&key, month, &row).await?;
                    }
                    Some(Ok(WatchItem::CaughtUp(_))) if self.following.is_live => {}
                    Some(Ok(WatchItem::CaughtUp(_))) => return Ok(LogEnd::Complete),
                    Some(Err(end)) => return Err(end.into()),
                    None => return Ok(LogEnd::Closed),
                },
                _ = checks.tick() => {
                    self.check_access().await?;
                    if last.is_none() {
                        last = self.last_of(month).await;
                    }
                }
            }
        }
        Ok(LogEnd::Complete)
    }

    /// The version of the last event of a log, if the log of a later month exists. A record that does not answer is asked again.
    async fn last_of(&self, month: AuditMonth) -> Option<Version> {
        self.first_from(month.later()).await.ok()??;
        let (found, version) = self.first_from(month).await.ok()??;
        Some(version).filter(|_| found == month)
    }

    /// Fails if the caller's token was revoked or has expired.
    async fn check_access(&self) -> Result<(), Problem> {
        self.following.call.principal(&self.gateway).await.map(drop)
    }

    /// Sends the entry of an event, if it has one that the caller wants.
    async fn send(&self, key: &ConversationKey, month: AuditMonth, row: &EventRow) -> Result<(), Problem> {
        let event = decode(key, row)?;
        let Following { since, filter, .. } = &self.following;
        let entry = AuditEntry::from_metadata(event.event.metadata.as_ref());
        let wanted = entry.filter(|entry| event.recorded_at >= *since && filter.matches(entry));
        if let Some(entry) = wanted {
            let position = AuditPosition { month, version: event.version };
            let followed = Followed { position, recorded_at: event.recorded_at, entry };
            // Sending fails only if the caller is gone; then `run` ends the work.
            let _ = self.entries.send(Ok(followed)).await;
        }
        Ok(())
    }
}

fn unknown_position() -> Problem {
    let rule = "is after the last entry: send the position of an entry unchanged";
    crate::request::out_of_range(rule.to_owned()).within("after_position").into()
}
