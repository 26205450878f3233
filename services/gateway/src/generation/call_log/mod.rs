//! The log of model servers' calls: what an agent's settings have kept of them goes to the writer, behind the answers.
//!
//! Off unless the settings say otherwise. Answers never wait for it and never fail by it: what finds no room, or no writer
//! within a few tries, is dropped and counted. Secrets are taken out here, by the rules of the agent's context policy, before
//! anything leaves the process.

pub mod entry;
pub mod metrics;
mod ship;

use std::sync::{Arc, Mutex, PoisonError};

use domain::{AgentId, CallPurpose, ConversationKey, Label, ModelServerId, RunId};
use event_log::registry::{LogDetail, ProviderLogs};
use models::{Exchange, Listener, Wanted};
use runtime::shutdown::Shutdown;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::run_key::RunKey;
use super::settings::ModelChoice;
use crate::Gateway;
use crate::writer::WriterClient;

/// Most calls that wait to be sent; more are dropped.
pub const CALLS_WAITING_MAX: usize = 1_024;
/// Most KiB of bodies that wait to be sent; more are dropped.
pub const KIB_WAITING_MAX: usize = 32 * 1_024;

const KIB: usize = 1_024;

/// What a call is made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// Whose call it is.
    pub agent: AgentId,
    /// The conversation.
    pub key: ConversationKey,
    /// The run.
    pub run: RunId,
    /// What for.
    pub purpose: CallPurpose,
    /// The model server.
    pub server: ModelServerId,
    /// The model.
    pub model: Label,
}

/// A call that waits to be sent.
#[derive(Debug)]
struct Waiting {
    about: Arc<About>,
    exchange: Exchange,
    /// Its share of the room.
    _room: OwnedSemaphorePermit,
}

/// Where calls are told. Clones share it.
#[derive(Debug, Clone)]
pub struct CallLog {
    /// None once the gateway ends: those who listen then have one of their own until they are done.
    calls: Arc<Mutex<Option<mpsc::Sender<Waiting>>>>,
    room: Arc<Semaphore>,
}

impl CallLog {
    /// A log, and a task that sends what it is told; it ends with `shutdown`, once all that is under way by then is told.
    /// Needs a tokio runtime.
    #[must_use]
    pub fn start(gateway: Gateway, writer: WriterClient, shutdown: &Shutdown) -> Self {
        let (log, waiting) = Self::with_room(CALLS_WAITING_MAX, KIB_WAITING_MAX);
        let means = ship::Means { gateway, writer };
        shutdown.spawn(ship::ship(means, waiting, log.clone(), shutdown.clone()));
        log
    }

    fn with_room(calls_max: usize, kib_max: usize) -> (Self, mpsc::Receiver<Waiting>) {
        let (calls, waiting) = mpsc::channel(calls_max);
        let log = Self {
            calls: Arc::new(Mutex::new(Some(calls))),
            room: Arc::new(Semaphore::new(kib_max)),
        };
        (log, waiting)
    }

    /// Who is to hear of a call of a run; `None`: nothing of it is kept.
    #[must_use]
    pub fn listener(
        &self,
        kept: Option<ProviderLogs>,
        run: &RunKey,
        model: &ModelChoice,
        purpose: CallPurpose,
    ) -> Option<Listener> {
        let wanted = match kept?.detail {
            LogDetail::Facts => Wanted::Facts,
            LogDetail::Bodies => Wanted::Bodies,
        };
        let about = Arc::new(About {
            agent: run.agent.clone(),
            key: run.key.clone(),
            run: run.run,
            purpose,
            server: ModelServerId::parse(model.server.as_str()).ok()?,
            model: model.label()?,
        });
        let calls = self.calls().clone()?;
        let room = Arc::clone(&self.room);
        Some(Listener::new(wanted, move |exchange| {
            let room = Arc::clone(&room);
            let permit = room.try_acquire_many_owned(kib_of(&exchange));
            let is_sent = permit.is_ok_and(|permit| {
                let waiting = Waiting {
                    about: Arc::clone(&about),
                    exchange,
                    _room: permit,
                };
                calls.try_send(waiting).is_ok()
            });
            if !is_sent {
                metrics::told("no_room");
            }
        }))
    }

    /// Lets nobody begin to listen any more.
    fn close(&self) {
        self.calls().take();
    }

    fn calls(&self) -> std::sync::MutexGuard<'_, Option<mpsc::Sender<Waiting>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a call takes of the room, in KiB; one at least.
fn kib_of(exchange: &Exchange) -> u32 {
    let request = exchange.request.as_ref().map_or(0, bytes::Bytes::len);
    let reply = exchange.reply.as_ref().map_or(0, String::len);
    let kib = (request + reply).div_ceil(KIB).max(1);
    u32::try_from(kib).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
