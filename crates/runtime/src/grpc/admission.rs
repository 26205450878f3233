//! Admission of calls: each call takes a slot, or is rejected.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use super::config::GrpcConfig;
use super::method::{Kind, Method};
use crate::net::{Drain, Interruption, Slot, Slots, memory_slots};

/// `google.rpc.ErrorInfo.domain` of rejections; all errors of Hansard have it.
const ERROR_DOMAIN: &str = "hansard";

/// Retry delay that rejected callers get in `RetryInfo`.
const RETRY_AFTER: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Admission {
    calls: Arc<Slots>,
    streams: Arc<Slots>,
    /// The memory of the requests of all calls.
    memory: Arc<Slots>,
    drain: Drain,
}

impl Admission {
    pub(super) fn new(config: &GrpcConfig, drain: Drain) -> Self {
        let preempt_after = config.transport.preempt_after();
        Self {
            calls: Slots::new("grpc.calls", config.calls_max, preempt_after),
            streams: Slots::new("grpc.streams", config.streams_max, preempt_after),
            memory: Slots::new("grpc.memory", memory_slots(config.bodies_bytes_max), preempt_after),
            drain,
        }
    }

    pub(super) fn slots(&self) -> Vec<Arc<Slots>> {
        let all = [&self.calls, &self.streams, &self.memory];
        all.map(Arc::clone).to_vec()
    }

    pub(super) fn memory(&self) -> Arc<Slots> {
        Arc::clone(&self.memory)
    }

    /// Takes a slot for a call of `method`, without waiting: a queue would only hide the load. `None` if the method needs
    /// no slot.
    pub(super) fn admit(&self, method: &Method) -> Result<Option<Slot>, Status> {
        if method.infrastructure {
            return Ok(None);
        }
        if self.drain.has_begun() {
            return Err(draining());
        }
        let slots = match method.kind {
            Kind::Unary => &self.calls,
            Kind::ServerStreaming | Kind::ClientStreaming => &self.streams,
        };
        slots.acquire(1).map(Some).ok_or_else(|| {
            let (max, noun) = (slots.max, slots.kind());
            let message = format!("the server is at its limit of {max} {noun}; try again later");
            reject(Code::ResourceExhausted, "OVERLOADED", &message)
        })
    }
}

/// The status of calls that are rejected or ended because the server shuts down.
pub(super) fn draining() -> Status {
    let message = "the server is shutting down; connect again";
    reject(Code::Unavailable, "DRAINING", message)
}

/// The status of calls that are ended because their request did not arrive.
pub(super) fn interrupted(reason: Interruption) -> Status {
    match reason {
        Interruption::OutOfMemory => {
            let message = "the server is at its limit of the bytes of all requests; try again later";
            reject(Code::ResourceExhausted, "OVERLOADED", message)
        }
        Interruption::Preempted => {
            let message = "the server is at its limit, and the call waited for its request; \
                           send the request faster, or try again later";
            reject(Code::ResourceExhausted, "OVERLOADED", message)
        }
        Interruption::BodyStalled => {
            let message = "the request made no progress; send it faster";
            reject(Code::DeadlineExceeded, "BODY_TOO_SLOW", message)
        }
    }
}

fn reject(code: Code, reason: &str, message: &str) -> Status {
    let mut details = ErrorDetails::with_retry_info(Some(RETRY_AFTER));
    details.set_error_info(reason, ERROR_DOMAIN, HashMap::new());
    Status::with_error_details(code, message, details)
}

#[cfg(test)]
mod tests {
    use super::super::method::Methods;
    use super::*;

    const WATCH: &str = "/grpc.health.v1.Health/Watch";
    const ANY: &str = "/x.Y/Z";

    fn check(admission: &Admission, path: &str, expected: Result<bool, Code>) -> Option<Slot> {
        let methods = Methods::from_descriptors(&[tonic_health::pb::FILE_DESCRIPTOR_SET]).unwrap();
        let admitted = admission.admit(methods.find(path));
        let outcome = admitted.as_ref().map(Option::is_some).map_err(Status::code);
        assert_eq!(outcome, expected, "{path}");
        admitted.ok().flatten()
    }

    #[test]
    fn slots_are_taken_released_and_denied_in_a_drain() {
        let drain = Drain::default();
        let config = GrpcConfig { calls_max: 1, ..GrpcConfig::default() };
        let admission = Admission::new(&config, drain.clone());
        let slot = check(&admission, ANY, Ok(true));
        check(&admission, ANY, Err(Code::ResourceExhausted));
        check(&admission, WATCH, Ok(false));
        drop(slot);
        check(&admission, ANY, Ok(true));
        drain.begin();
        check(&admission, ANY, Err(Code::Unavailable));
        check(&admission, WATCH, Ok(false));
    }
}
