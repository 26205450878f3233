//! The metering of model calls: each call is sent to the writer, with retries until the writer has stored it.
//!
//! A call reserves its place in the queue before the model is called, so every call can be metered: while the writer does not
//! answer and the queue is full, models are not called. The queue is lost when the process is killed.

use std::time::Duration;

use ::quotas::Consumer;
use backon::Retryable as _;
use domain::{AgentId, Label, LogId, MeteredCall, OwnerDigest};
use runtime::backoff::exponential;
use runtime::shutdown::Shutdown;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use uuid::Uuid;
use wire::metered_call::metered_to_proto;
use wire::proto::run::v1 as proto;
use wire::status::{Problem, Reason};

use super::metrics;
use crate::writer::{WriterClient, WriterError};

/// Maximum number of active and queued calls. Beyond it, models are not called.
pub const CALLS_WAITING_MAX: usize = 10_000;
/// Maximum number of concurrent sends.
const SENDS_AT_ONCE: usize = 16;
/// First wait between two attempts.
const WAIT_BASE: Duration = Duration::from_millis(100);
/// Maximum wait between two attempts.
const WAIT_MAX: Duration = Duration::from_secs(4);
/// Maximum number of attempts after the shutdown has begun.
const SENDS_AT_END_MAX: u32 = 3;
/// The retry delay that callers receive when the queue is full.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The queue of metered calls. Clones share it.
#[derive(Debug, Clone)]
pub struct Metering(mpsc::Sender<MeteredCall>);

/// A reserved place in the queue for one call.
pub type MeterPermit = mpsc::OwnedPermit<MeteredCall>;

impl Metering {
    /// Starts the task that sends calls. When `drain` has passed since the begin of the shutdown, it sends the queued calls and
    /// ends. Needs a tokio runtime.
    #[must_use]
    pub fn start(writer: WriterClient, drain: Duration, shutdown: &Shutdown) -> Self {
        let (metering, waiting) = Self::with_room(CALLS_WAITING_MAX);
        shutdown.spawn(send_all(writer, waiting, drain, shutdown.clone()));
        metering
    }

    fn with_room(calls_max: usize) -> (Self, mpsc::Receiver<MeteredCall>) {
        let (calls, waiting) = mpsc::channel(calls_max);
        (Self(calls), waiting)
    }

    /// Reserves a place for a call, before the model is called.
    ///
    /// # Errors
    /// `RECORD_UNAVAILABLE`: the queue is full, or the gateway shuts down.
    pub fn reserve(&self) -> Result<MeterPermit, Problem> {
        let permit = self.0.clone().try_reserve_owned();
        permit.map_err(|_| {
            let message = "model calls cannot be metered now: the writer does not answer";
            Problem::new(Reason::RecordUnavailable, message).retry_after(RETRY_AFTER)
        })
    }
}

/// The metered call of a consumer; `None`: the consumer's agent id is invalid, which does not happen.
pub(super) fn metered(consumer: &Consumer, input_tokens: u64, output_tokens: u64) -> Option<MeteredCall> {
    let owner = consumer.owner.as_deref();
    Some(MeteredCall {
        id: LogId(Uuid::now_v7()),
        agent: AgentId::parse(consumer.agent.as_str()).ok()?,
        api_key: consumer.key.as_deref().and_then(|key| Label::parse(key).ok()),
        owner: owner.and_then(|owner| OwnerDigest::parse(owner).ok()),
        input_tokens,
        output_tokens,
    })
}

async fn send_all(writer: WriterClient, mut waiting: mpsc::Receiver<MeteredCall>, drain: Duration, shutdown: Shutdown) {
    let mut sends = JoinSet::new();
    let mut is_closed = false;
    let drained = async {
        shutdown.begun().await;
        tokio::time::sleep(drain).await;
    };
    tokio::pin!(drained);
    loop {
        tokio::select! {
            () = &mut drained, if !is_closed => {
                waiting.close();
                is_closed = true;
            }
            next = waiting.recv(), if sends.len() < SENDS_AT_ONCE => {
                let Some(next) = next else { break };
                sends.spawn(send(writer.clone(), next, shutdown.clone()));
            }
            Some(_) = sends.join_next() => {}
        }
    }
    while sends.join_next().await.is_some() {}
}

async fn send(writer: WriterClient, call: MeteredCall, shutdown: Shutdown) {
    let outcome = try_send(&writer, &call, &shutdown).await;
    metrics::metered(outcome);
    if outcome != "kept" {
        tracing::error!(call.id = %call.id, outcome, "a model call could not be metered");
    }
}

async fn try_send(writer: &WriterClient, call: &MeteredCall, shutdown: &Shutdown) -> &'static str {
    let request = proto::MeterModelCallRequest { call: Some(metered_to_proto(call)) };
    let mut sends_at_end = 0;
    let meter = || async { writer.runs().meter_model_call(request.clone()).await.map_err(WriterError::from) };
    let answer = meter
        .retry(exponential(WAIT_BASE, WAIT_MAX))
        .when(|refusal| {
            sends_at_end += u32::from(refusal.is_retryable() && shutdown.has_begun());
            refusal.is_retryable() && sends_at_end < SENDS_AT_END_MAX
        })
        .await;
    match answer {
        Ok(answer) if answer.get_ref().is_counted => "kept",
        Ok(_) => "no_stream",
        Err(refusal) if refusal.is_retryable() => "unreachable",
        Err(_) => "refused",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_call_reserves_its_place_first() {
        let (metering, mut waiting) = Metering::with_room(2);
        let consumer =
            Consumer { tenant: "t".to_owned(), agent: "a".to_owned(), key: None, owner: None, address: None };
        let permits = [metering.reserve().unwrap(), metering.reserve().unwrap()];
        let refused = metering.reserve().unwrap_err();
        assert_eq!(refused.reason(), Reason::RecordUnavailable);
        let [first, second] = permits;
        first.send(metered(&consumer, 3, 4).unwrap());
        assert!(metering.reserve().is_err());
        assert_eq!(waiting.recv().await.unwrap().output_tokens, 4);
        let third = metering.reserve().unwrap();
        // Unused permits free their places.
        drop((second, third));
        waiting.close();
        assert!(metering.reserve().is_err());
        assert_eq!(waiting.recv().await, None);
    }
}
