//! Sees on the gateway that makes a run what others do to it: ask it to stop, or finish it.

use std::time::Duration;

use domain::{ActiveRun, ConversationKey, RunId, RunPhase};
use event_log::{LiveItem, LiveSubscription};
use tokio::time::timeout;
use wire::status::Problem;

use super::head_of;
use crate::Gateway;

/// How often the head is looked at when nothing comes: what tells of commits may be lost.
const HEAD_CHECK: Duration = Duration::from_secs(2);
/// How long to wait where there is no subscription.
const RESUBSCRIBE: Duration = Duration::from_millis(500);

/// What others did to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interruption {
    /// Somebody asked it to stop.
    StopRequested,
    /// It is over: somebody else finished it, or its conversation is gone.
    Over,
}

/// Waits until somebody asks the run to stop, or it is over.
pub(super) async fn interruption(
    gateway: &Gateway,
    key: &ConversationKey,
    run: RunId,
) -> Interruption {
    loop {
        if let Ok(live) = gateway.reader.record.live(key).await {
            return watch(gateway, key, run, live).await;
        }
        if let Some(interruption) = look(gateway, key, run).await {
            return interruption;
        }
        tokio::time::sleep(RESUBSCRIBE).await;
    }
}

/// Follows the conversation; looks at its head where something may have been missed.
async fn watch(
    gateway: &Gateway,
    key: &ConversationKey,
    run: RunId,
    mut live: LiveSubscription,
) -> Interruption {
    // What was recorded before the subscription.
    let mut must_look = true;
    loop {
        if must_look && let Some(interruption) = look(gateway, key, run).await {
            return interruption;
        }
        must_look = match timeout(HEAD_CHECK, live.next()).await {
            Ok(LiveItem::Commit(message)) => {
                let head = message.open_head().ok();
                match head.map(|head| judged(head.active_run, run)) {
                    Some(None) => false,
                    Some(Some(Interruption::StopRequested)) => return Interruption::StopRequested,
                    // The leader must say so: what comes live may be older than the run.
                    Some(Some(Interruption::Over)) | None => true,
                }
            }
            Ok(LiveItem::Gap) | Err(_) => true,
        };
    }
}

/// What the head says; a record that does not answer says nothing.
async fn look(gateway: &Gateway, key: &ConversationKey, run: RunId) -> Option<Interruption> {
    let head: Result<_, Problem> = head_of(gateway, key).await;
    judged(head.ok()?.and_then(|head| head.active_run), run)
}

fn judged(active: Option<ActiveRun>, run: RunId) -> Option<Interruption> {
    match active {
        Some(active) if active.id == run => match active.phase {
            RunPhase::Running => None,
            RunPhase::Stopping => Some(Interruption::StopRequested),
        },
        Some(_) | None => Some(Interruption::Over),
    }
}
