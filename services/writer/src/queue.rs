//! A short queue per conversation, so that a writer does not race itself. Safety never depends on it: the record
//! checks every commit.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::ConversationKey;
use thiserror::Error;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Most commands of one conversation that wait for their turn.
pub const WAITING_MAX: usize = 512;

/// The longest that a command waits for its turn. The record may take its own time with each command before it, and
/// whoever waits behind many of them learns sooner from this than from a deadline that nothing was tried.
pub const TURN_WAIT_MAX: Duration = Duration::from_secs(3);

/// The turn did not come in time: nothing was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the conversation's earlier commands are not done yet, and nothing was tried")]
pub struct TurnLate;

/// More commands wait for one conversation than may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{WAITING_MAX} commands wait for this conversation already")]
pub struct QueueFull;

type Waiting = HashMap<ConversationKey, VecDeque<oneshot::Sender<()>>>;

/// The queues of all conversations that are being written to.
#[derive(Debug, Clone, Default)]
pub struct Queues(Arc<Mutex<Waiting>>);

impl Queues {
    /// Takes a place in the conversation's queue, at once: places are taken in the order of the calls.
    ///
    /// # Errors
    /// [`QueueFull`] when [`WAITING_MAX`] wait already.
    pub fn enter(&self, key: &ConversationKey) -> Result<Place, QueueFull> {
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
        Ok(Place {
            queues: self.clone(),
            key: key.clone(),
            turn,
            has_turn,
        })
    }

    /// Hands the turn to the next that still waits; a queue with nobody in it is removed.
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
        // The map is whole at every unlock, so a panic elsewhere cannot have left it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in a conversation's queue. Dropped, it lets the next one go.
#[derive(Debug)]
pub struct Place {
    queues: Queues,
    key: ConversationKey,
    turn: Option<oneshot::Receiver<()>>,
    has_turn: bool,
}

impl Place {
    /// Waits for the turn, no longer than `max`. It lasts until what is returned is dropped.
    ///
    /// # Errors
    /// [`TurnLate`]: the place is given up.
    pub async fn turn_within(self, max: Duration) -> Result<Turn, TurnLate> {
        timeout(max, self.turn()).await.map_err(|_| TurnLate)
    }

    async fn turn(mut self) -> Turn {
        if let Some(turn) = &mut self.turn {
            // The sender is dropped only with the queues themselves; then nobody else has the turn.
            self.has_turn = turn.await.is_ok();
        }
        self.turn = None;
        Turn { _place: self }
    }
}

/// The right to append to a conversation, as far as this writer is concerned.
#[derive(Debug)]
pub struct Turn {
    _place: Place,
}

impl Drop for Place {
    fn drop(&mut self) {
        // A turn that arrived but was never taken is passed on.
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
        ConversationKey {
            tenant: TenantId::parse("acme").unwrap(),
            conversation: ConversationId::parse(id).unwrap(),
        }
    }

    #[tokio::test]
    async fn turns_come_in_the_order_of_the_places() {
        let queues = Queues::default();
        let first = queues.enter(&key("a")).unwrap().turn().await;
        let mut second = Box::pin(queues.enter(&key("a")).unwrap().turn());
        let mut third = Box::pin(queues.enter(&key("a")).unwrap().turn());
        assert!((&mut second).now_or_never().is_none());
        assert!(
            queues
                .enter(&key("b"))
                .unwrap()
                .turn()
                .now_or_never()
                .is_some()
        );
        drop(first);
        assert!((&mut third).now_or_never().is_none());
        let second = second.await;
        drop(second);
        drop(third.await);
        assert!(queues.lock().is_empty());
    }

    #[tokio::test]
    async fn a_place_that_is_given_up_holds_nobody() {
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
    async fn who_waits_too_long_gives_its_place_up() {
        let queues = Queues::default();
        let within = async |max| {
            let place = queues.enter(&key("a")).unwrap();
            place.turn_within(max).await
        };
        let first = within(Duration::ZERO).await.unwrap();
        assert_eq!(within(Duration::ZERO).await.err(), Some(TurnLate));
        assert_eq!(within(Duration::from_millis(5)).await.err(), Some(TurnLate));
        drop(first);
        drop(within(Duration::ZERO).await.unwrap());
        assert!(queues.lock().is_empty());
    }

    #[tokio::test]
    async fn a_queue_at_its_bound_and_one_past() {
        let queues = Queues::default();
        let first = queues.enter(&key("a")).unwrap().turn().await;
        let waiting: Vec<Place> = (0..WAITING_MAX)
            .map(|_| queues.enter(&key("a")).unwrap())
            .collect();
        assert_eq!(queues.enter(&key("a")).err(), Some(QueueFull));
        drop(waiting);
        drop(first);
        assert!(
            queues
                .enter(&key("a"))
                .unwrap()
                .turn()
                .now_or_never()
                .is_some()
        );
        assert!(queues.lock().is_empty());
    }
}
