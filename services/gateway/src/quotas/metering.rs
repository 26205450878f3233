//! The metering of model calls: each call goes to the writer, which keeps it, and is sent until the writer has it.
//!
//! A call takes its room in the queue before the model is asked. So no call is made that cannot be metered: while the writer
//! does not answer and the queue is full, models are not asked. What is in the queue is lost with the process.

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
use crate::writer::WriterClient;
use crate::writer::refusal::Refusal;

/// Most calls that are under way or wait to be sent; models are not asked for more.
pub const CALLS_WAITING_MAX: usize = 10_000;
/// Most calls that are sent at once.
const SENDS_AT_ONCE: usize = 16;
/// The first wait before a call is sent again.
const WAIT_BASE: Duration = Duration::from_millis(100);
/// The longest wait before a call is sent again.
const WAIT_MAX: Duration = Duration::from_secs(4);
/// How often a call is sent once the gateway is ending.
const SENDS_AT_END_MAX: u32 = 3;
/// When to try again where the queue is full.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Where model calls are metered. Clones share it.
#[derive(Debug, Clone)]
pub struct Metering(mpsc::Sender<MeteredCall>);

/// Room for one call.
#[derive(Debug)]
pub struct MeterPermit(mpsc::OwnedPermit<MeteredCall>);

impl Metering {
    /// Starts the task that sends calls. It ends when `drain` has passed after the begin of the shutdown, once the calls under
    /// way by then are sent. Needs a tokio runtime.
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

    /// Takes room for a call that is to be made.
    ///
    /// # Errors
    /// `RECORD_UNAVAILABLE`: too many calls wait for the writer, or the gateway is ending.
    pub fn reserve(&self) -> Result<MeterPermit, Problem> {
        let permit = self.0.clone().try_reserve_owned();
        permit.map(MeterPermit).map_err(|_| {
            let message = "model calls cannot be metered now: the writer does not answer";
            Problem::new(Reason::RecordUnavailable, message).retry_after(RETRY_AFTER)
        })
    }
}

impl MeterPermit {
    /// Meters a call.
    pub fn send(self, call: MeteredCall) {
        self.0.send(call);
    }
}

/// What a call of a consumer used; `None`: the consumer has no agent, which does not happen.
pub(super) fn metered(
    consumer: &Consumer,
    input_tokens: u64,
    output_tokens: u64,
) -> Option<MeteredCall> {
    let owner = consumer.owner.as_deref();
    Some(MeteredCall {
        id: LogId(Uuid::now_v7()),
        agent: AgentId::parse(consumer.agent.as_str()).ok()?,
        api_key: consumer
            .key
            .as_deref()
            .and_then(|key| Label::parse(key).ok()),
        owner: owner.and_then(|owner| OwnerDigest::parse(owner).ok()),
        input_tokens,
        output_tokens,
    })
}

async fn send_all(
    writer: WriterClient,
    mut waiting: mpsc::Receiver<MeteredCall>,
    drain: Duration,
    shutdown: Shutdown,
) {
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
        tracing::error!(call.id = %call.id, outcome, "a model call is not metered");
    }
}

async fn try_send(writer: &WriterClient, call: &MeteredCall, shutdown: &Shutdown) -> &'static str {
    let request = proto::MeterModelCallRequest {
        call: Some(metered_to_proto(call)),
    };
    let mut sends_at_end = 0;
    let meter = || async {
        let answer = writer.runs().meter_model_call(request.clone()).await;
        answer.map_err(Refusal::from)
    };
    let answer = meter
        .retry(exponential(WAIT_BASE, WAIT_MAX))
        .when(|refusal| {
            sends_at_end += u32::from(refusal.is_passing() && shutdown.has_begun());
            refusal.is_passing() && sends_at_end < SENDS_AT_END_MAX
        })
        .await;
    match answer {
        Ok(answer) if answer.get_ref().is_counted => "kept",
        Ok(_) => "no_stream",
        Err(refusal) if refusal.is_passing() => "unreachable",
        Err(_) => "refused",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_call_has_its_room_before_it_is_made() {
        let (metering, mut waiting) = Metering::with_room(2);
        let consumer = Consumer {
            tenant: "t".to_owned(),
            agent: "a".to_owned(),
            key: None,
            owner: None,
            address: None,
        };
        let permits = [metering.reserve().unwrap(), metering.reserve().unwrap()];
        let refused = metering.reserve().unwrap_err();
        assert_eq!(refused.reason(), Reason::RecordUnavailable);
        let [first, second] = permits;
        first.send(metered(&consumer, 3, 4).unwrap());
        assert!(metering.reserve().is_err());
        assert_eq!(waiting.recv().await.unwrap().output_tokens, 4);
        let third = metering.reserve().unwrap();
        // What is not made gives its room back.
        drop((second, third));
        waiting.close();
        assert!(metering.reserve().is_err());
        assert_eq!(waiting.recv().await, None);
    }
}
