//! The metering of model calls: each call is sent to the writer, with retries until the writer has stored it.
//!
//! A call reserves its place in the queue before the model is called, so every call can be metered: while the writer does not
//! answer and the queue is full, models are not called. The queue is lost when the process is killed.

use std::time::Duration;

use ::quotas::Consumer;
use backoff::exponential;
use backon::Retryable as _;
use domain::{AgentId, Label, LogId, MeteredCall, OwnerDigest};
use runtime::shutdown::Shutdown;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use uuid::Uuid;
use wire::metered_call::metered_to_proto;
use wire::proto::run::v1 as proto;
use wire::status::{Problem, Reason};

use super::metrics;
use record_access::writer::{WriterClient, WriterError};

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
    let mut retries = Retries::default();
    let meter = || async {
        let answer = writer.runs().meter_model_call(request.clone()).await;
        answer.map(|answer| answer.into_inner().is_counted).map_err(WriterError::from)
    };
    let answer = meter.retry(exponential(WAIT_BASE, WAIT_MAX)).when(|refusal| retries.allow(refusal, shutdown)).await;
    outcome(&answer)
}

/// The retries of one call: without end while the gateway runs, and at most [`SENDS_AT_END_MAX`] attempts fail after the
/// shutdown has begun.
#[derive(Debug, Default)]
struct Retries {
    failed_at_end: u32,
}

impl Retries {
    /// Whether the call is sent again after a failed attempt.
    fn allow(&mut self, failure: &WriterError, shutdown: &Shutdown) -> bool {
        if !failure.is_retryable() {
            return false;
        }
        self.failed_at_end += u32::from(shutdown.has_begun());
        self.failed_at_end < SENDS_AT_END_MAX
    }
}

/// The outcome of the last attempt, as metrics name it. `Ok`: whether the record has a stream for the call.
fn outcome(answer: &Result<bool, WriterError>) -> &'static str {
    match answer {
        Ok(true) => "kept",
        Ok(false) => "no_stream",
        Err(failure) if failure.is_retryable() => "unreachable",
        Err(_) => "refused",
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn a_call_is_sent_until_the_writer_answers() {
        let unavailable = || WriterError::Retryable(Problem::new(Reason::RecordUnavailable, ""));
        let (mut retries, shutdown) = (Retries::default(), Shutdown::new());
        let refused = WriterError::Permanent(Problem::new(Reason::MissingScope, ""));
        for _ in 0..1_000 {
            assert!(retries.allow(&unavailable(), &shutdown));
        }
        assert!(!retries.allow(&refused, &shutdown));
        // After the begin of the shutdown, the third failed attempt is the last one.
        shutdown.begin();
        let at_end = [(); 3].map(|()| retries.allow(&unavailable(), &shutdown));
        assert_eq!(at_end, [true, true, false]);
        assert!(!Retries::default().allow(&refused, &shutdown));
    }

    #[test]
    fn a_call_has_one_outcome() {
        assert_eq!(outcome(&Ok(true)), "kept");
        assert_eq!(outcome(&Ok(false)), "no_stream");
        assert_eq!(outcome(&Err(WriterError::Retryable(Problem::new(Reason::RecordUnavailable, "")))), "unreachable");
        assert_eq!(outcome(&Err(WriterError::Permanent(Problem::new(Reason::MissingScope, "")))), "refused");
        assert_eq!(outcome(&Err(WriterError::NotActive)), "refused");
    }

    #[test]
    fn a_call_counts_for_its_agent_key_and_owner() {
        let owner = OwnerDigest::of(&domain::Owner::User(domain::UserId::parse("ada").unwrap()));
        let consumer = Consumer {
            tenant: "acme".to_owned(),
            agent: "helper".to_owned(),
            key: Some("key".to_owned()),
            owner: Some(owner.as_str().to_owned()),
            address: Some("192.0.2.1".to_owned()),
        };
        let call = metered(&consumer, 3, 4).unwrap();
        assert_eq!((call.agent.as_str(), call.input_tokens, call.output_tokens), ("helper", 3, 4));
        assert_eq!(call.api_key, Some(Label::parse("key").unwrap()));
        assert_eq!(call.owner, Some(owner));
        let anonymous = metered(&Consumer { key: None, owner: None, ..consumer.clone() }, 0, 0).unwrap();
        assert_eq!((anonymous.api_key, anonymous.owner), (None, None));
        // Each call is counted once, by its id.
        assert_ne!(call.id, anonymous.id);
        assert_eq!(metered(&Consumer { agent: String::new(), ..consumer }, 0, 0), None);
    }

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
