//! The provider log: sends requests to model servers and their replies to the writer, in the background.
//!
//! Off by default; an agent's settings turn it on. Answers never wait for the log and never fail because of it: a call is
//! dropped and counted if the queue is full or the writer does not answer after a few attempts. Secrets are redacted here, by
//! the rules of the agent's context policy, before the entry leaves the process.

pub mod metrics;
mod ship;

use std::sync::{Arc, Mutex, PoisonError};

use domain::{AgentId, CallPurpose, ConversationKey, Label, ModelServerId, RunId};
use models::{Exchange, ExchangeDetail, ExchangeListener};
use registry::{LogDetail, ProviderLogs};
use runtime::shutdown::Shutdown;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::{ModelChoice, RunKey};
use record_access::Gateway;
use record_access::writer::WriterClient;

/// Maximum number of queued calls. Further calls are dropped.
pub const CALLS_WAITING_MAX: usize = 1_024;
/// Maximum size of the queued bodies, in KiB. Further calls are dropped.
pub const KIB_WAITING_MAX: usize = 32 * 1_024;

const KIB: usize = 1_024;

/// The run, the purpose and the model of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallOrigin {
    /// The agent.
    pub agent: AgentId,
    /// The conversation.
    pub key: ConversationKey,
    /// The run.
    pub run: RunId,
    /// The purpose.
    pub purpose: CallPurpose,
    /// The model server.
    pub server: ModelServerId,
    /// The model.
    pub model: Label,
}

/// A call in the queue.
#[derive(Debug)]
struct QueuedCall {
    origin: Arc<CallOrigin>,
    exchange: Exchange,
    /// Its share of [`KIB_WAITING_MAX`].
    _room: OwnedSemaphorePermit,
}

/// The queue of the provider log. Clones share it.
#[derive(Debug, Clone)]
pub struct CallLog {
    /// `None` after the shutdown has begun. Active listeners keep a sender of their own.
    calls: Arc<Mutex<Option<mpsc::Sender<QueuedCall>>>>,
    room: Arc<Semaphore>,
}

impl CallLog {
    /// Starts the log and the task that sends its calls. After `shutdown` begins, the task ends when all active listeners are
    /// dropped. Needs a tokio runtime.
    #[must_use]
    pub fn start(gateway: Gateway, writer: WriterClient, shutdown: &Shutdown) -> Self {
        let (log, queue) = Self::with_room(CALLS_WAITING_MAX, KIB_WAITING_MAX);
        let deps = ship::Dependencies { gateway, writer };
        shutdown.spawn(ship::ship(deps, queue, log.clone(), shutdown.clone()));
        log
    }

    fn with_room(calls_max: usize, kib_max: usize) -> (Self, mpsc::Receiver<QueuedCall>) {
        let (calls, queue) = mpsc::channel(calls_max);
        let log = Self { calls: Arc::new(Mutex::new(Some(calls))), room: Arc::new(Semaphore::new(kib_max)) };
        (log, queue)
    }

    /// The listener for a call of a run; `None`: the call is not logged.
    #[must_use]
    pub fn listener(
        &self,
        kept: Option<ProviderLogs>,
        run: &RunKey,
        model: &ModelChoice,
        purpose: CallPurpose,
    ) -> Option<ExchangeListener> {
        let wanted = match kept?.detail {
            LogDetail::Facts => ExchangeDetail::Facts,
            LogDetail::Bodies => ExchangeDetail::Bodies,
        };
        let origin = Arc::new(CallOrigin {
            agent: run.agent.clone(),
            key: run.key.clone(),
            run: run.run,
            purpose,
            server: ModelServerId::parse(model.server.as_str()).ok()?,
            model: model.label()?,
        });
        let calls = self.calls().clone()?;
        let room = Arc::clone(&self.room);
        Some(ExchangeListener::new(wanted, move |exchange| {
            let room = Arc::clone(&room);
            let permit = room.try_acquire_many_owned(kib_of(&exchange));
            let is_sent = permit.is_ok_and(|permit| {
                let call = QueuedCall { origin: Arc::clone(&origin), exchange, _room: permit };
                calls.try_send(call).is_ok()
            });
            if !is_sent {
                metrics::logged("no_room");
            }
        }))
    }

    /// Stops new listeners.
    fn close(&self) {
        self.calls().take();
    }

    fn calls(&self) -> std::sync::MutexGuard<'_, Option<mpsc::Sender<QueuedCall>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The share of a call of [`KIB_WAITING_MAX`], in KiB; at least one.
fn kib_of(exchange: &Exchange) -> u32 {
    let request = exchange.request.as_ref().map_or(0, bytes::Bytes::len);
    let reply = exchange.reply.as_ref().map_or(0, String::len);
    let kib = (request + reply).div_ceil(KIB).max(1);
    u32::try_from(kib).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
