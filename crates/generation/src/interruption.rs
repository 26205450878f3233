//! Interruptions of a run by other processes: a stop request, or its finish. Watched by the gateway that executes it.

use std::time::Duration;

use domain::{ActiveRun, ConversationKey, RunId, RunPhase};
use event_log::{LiveItem, LiveSubscription};
use tokio::time::timeout;

use super::read_head;
use record_access::Gateway;

/// The head is read after this long without live commits: live messages can be lost.
const HEAD_CHECK: Duration = Duration::from_secs(2);
/// The wait between two attempts to subscribe.
const RESUBSCRIBE: Duration = Duration::from_millis(500);

/// An interruption of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interruption {
    StopRequested,
    /// Another process finished the run, or the conversation is erased.
    Over,
}

/// Waits until the stop of the run is requested, or the run is over.
pub(super) async fn wait(gateway: &Gateway, key: &ConversationKey, run: RunId) -> Interruption {
    loop {
        if let Ok(live) = gateway.reader.record.live(key).await {
            return watch(gateway, key, run, live).await;
        }
        if let Some(interruption) = check_head(gateway, key, run).await {
            return interruption;
        }
        tokio::time::sleep(RESUBSCRIBE).await;
    }
}

/// Follows the live commits. Reads the head after a possible loss.
async fn watch(gateway: &Gateway, key: &ConversationKey, run: RunId, mut live: LiveSubscription) -> Interruption {
    // The first check covers the commits before the subscription.
    let mut must_check = true;
    loop {
        if must_check && let Some(interruption) = check_head(gateway, key, run).await {
            return interruption;
        }
        must_check = match timeout(HEAD_CHECK, live.next()).await {
            Ok(LiveItem::Commit(message)) => {
                let head = message.open_head().ok();
                match head.map(|head| interruption_of(head.active_run, run)) {
                    Some(None) => false,
                    Some(Some(Interruption::StopRequested)) => return Interruption::StopRequested,
                    // A live commit may be older than the run: the leader decides.
                    Some(Some(Interruption::Over)) | None => true,
                }
            }
            Ok(LiveItem::Gap) | Err(_) => true,
        };
    }
}

/// The interruption according to the head, read from the leader; `None`: none, or the record does not answer.
async fn check_head(gateway: &Gateway, key: &ConversationKey, run: RunId) -> Option<Interruption> {
    let head = read_head(gateway, key).await.ok()?;
    interruption_of(head.and_then(|head| head.active_run), run)
}

fn interruption_of(active: Option<ActiveRun>, run: RunId) -> Option<Interruption> {
    match active {
        Some(active) if active.id == run => match active.phase {
            RunPhase::Running => None,
            RunPhase::Stopping => Some(Interruption::StopRequested),
        },
        Some(_) | None => Some(Interruption::Over),
    }
}
