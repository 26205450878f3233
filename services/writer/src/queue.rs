//! A short queue for each conversation, so that a writer does not race with itself. It is only an optimisation: the record
//! checks every commit.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::ConversationKey;
use thiserror::Error;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Maximum number of waiting commands of one conversation.
pub(crate) const WAITING_MAX: usize = 512;

/// Maximum wait for the turn. Each earlier command may take long in the record. After this time the caller learns that the
/// command was not executed, before its own deadline.
pub(crate) const TURN_WAIT_MAX: Duration = Duration::from_secs(3);

/// The turn did not come in time: the command was not executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("earlier commands of the conversation are not complete, and this one was not executed")]
pub(crate) struct TurnTimeout;

/// The queue of the conversation is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{WAITING_MAX} commands already wait for this conversation")]
pub(crate) struct QueueFull;

type Waiting = HashMap<ConversationKey, VecDeque<oneshot::Sender<()>>>;

/// The queues of all conversations with running commands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Queues(Arc<Mutex<Waiting>>);

impl Queues {
    /// Enters the queue of the conversation without waiting; the order is that of the calls.
    /// Errors: [`QueueFull`] if [`WAITING_MAX`] commands wait.
    pub(crate) fn enter(&self, key: &ConversationKey) -> Result<QueueTicket, QueueFull> {
        let mut queues = self.lock();
        let turn = match queues.get_mut(key) {
            None => {
                queues.insert(key.clone(), VecDeque::new());
                None
            }
            Some(waiting) if waiting.len() >= WAITING_MAX => return Err(QueueFull),
            Some(waiting) => {
                let (sender, receiver) = oneshot::channel();
                waiting.push_back(sender);
                Some(receiver)
            }
        };
        let has_turn = turn.is_none();
        Ok(QueueTicket { queues: self.clone(), key: key.clone(), turn, has_turn })
    }

    /// Passes the turn to the next waiting command; an empty queue is removed.
    fn advance(&self, key: &ConversationKey) {
        let mut queues = self.lock();
        let Some(waiting) = queues.get_mut(key) else {
            return;
        };
        while let Some(next) = waiting.pop_front() {
            if next.send(()).is_ok() {
                return;
            }
        }
        queues.remove(key);
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // The map is consistent at every unlock: a panic cannot leave it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the queue of a conversation. A drop passes the turn to the next command.
#[derive(Debug)]
pub(crate) struct QueueTicket {
    queues: Queues,
    key: ConversationKey,
    turn: Option<oneshot::Receiver<()>>,
    has_turn: bool,
}

impl QueueTicket {
    /// Waits for the turn, at most `max`. The turn lasts until it is dropped.
    /// Errors: [`TurnTimeout`]: the ticket is dropped.
    pub(crate) async fn wait_for_turn(self, max: Duration) -> Result<Turn, TurnTimeout> {
        timeout(max, self.turn()).await.map_err(|_| TurnTimeout)
    }

    async fn turn(mut self) -> Turn {
        if let Some(turn) = &mut self.turn {
            // The sender is dropped only with the queues; then no other command has the turn.
            self.has_turn = turn.await.is_ok();
        }
        self.turn = None;
        Turn { _ticket: self }
    }
}

/// The turn to append to a conversation through this writer.
#[derive(Debug)]
pub(crate) struct Turn {
    _ticket: QueueTicket,
}

impl Drop for QueueTicket {
    fn drop(&mut self) {
        // A turn that arrived and was not used is passed on.
        if let Some(turn) = &mut self.turn {
            turn.close();
            self.has_turn |= turn.try_recv().is_ok();
        }
        if self.has_turn {
            self.queues.advance(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::{ConversationId, TenantId};
    use futures::FutureExt as _;

    use super::*;

    fn key(id: &str) -> ConversationKey {
        ConversationKey { tenant: TenantId::parse("acme").unwrap(), conversation: ConversationId::parse(id).unwrap() }
    }

    #[tokio::test]
    async fn turns_have_the_order_of_the_tickets() {
        let queues = Queues::default();
        let first = queues.enter(&key("a")).unwrap().turn().await;
        let mut second = Box::pin(queues.enter(&key("a")).unwrap().turn());
        let mut third = Box::pin(queues.enter(&key("a")).unwrap().turn());
        assert!((&mut second).now_or_never().is_none());
        let other = queues.enter(&key("b")).unwrap();
        assert!(other.turn().now_or_never().is_some());
        drop(first);
        assert!((&mut third).now_or_never().is_none());
        let second = second.await;
        drop(second);
        drop(third.await);
        assert!(queues.lock().is_empty());
    }

    #[tokio::test]
    async fn a_dropped_ticket_passes_the_turn_on() {
        let queues = Queues::default();
        let first = queues.enter(&key("a")).unwrap().turn().await;
        let second = queues.enter(&key("a")).unwrap();
        let third = queues.enter(&key("a")).unwrap();
        drop(first);
        drop(second);
        drop(third.turn().await);
        assert!(queues.lock().is_empty());
    }

    #[tokio::test]
    async fn a_wait_ends_at_its_timeout() {
        let queues = Queues::default();
        let within = async |max| {
            let ticket = queues.enter(&key("a")).unwrap();
            ticket.wait_for_turn(max).await
        };
        let first = within(Duration::ZERO).await.unwrap();
        for max in [Duration::ZERO, Duration::from_millis(5)] {
            assert_eq!(within(max).await.err(), Some(TurnTimeout));
        }
        drop(first);
        drop(within(Duration::ZERO).await.unwrap());
        assert!(queues.lock().is_empty());
    }

    #[tokio::test]
    async fn a_full_queue_rejects_commands() {
        let queues = Queues::default();
        let first = queues.enter(&key("a")).unwrap().turn().await;
        let waiting: Vec<QueueTicket> = (0..WAITING_MAX).map(|_| queues.enter(&key("a")).unwrap()).collect();
        assert_eq!(queues.enter(&key("a")).err(), Some(QueueFull));
        drop(waiting);
        drop(first);
        let next = queues.enter(&key("a")).unwrap();
        assert!(next.turn().now_or_never().is_some());
        assert!(queues.lock().is_empty());
    }
}
