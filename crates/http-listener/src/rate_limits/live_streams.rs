//! The open live streams of each client address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use runtime::http::HttpProblem;

use conversations::problem::RETRY_AFTER;

/// Counts the open streams of each address; addresses without streams are not stored.
#[derive(Debug, Clone, Default)]
pub(super) struct LiveStreams(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// An open stream. It is counted until this value is dropped.
#[derive(Debug)]
pub struct CountedStream(Option<(LiveStreams, IpAddr)>);

impl LiveStreams {
    /// Counts a stream of an address; without an address, it is not counted.
    pub(super) fn enter(&self, address: Option<IpAddr>, per_address_max: usize) -> Result<CountedStream, HttpProblem> {
        let Some(address) = address else {
            return Ok(CountedStream(None));
        };
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(address).or_default();
        if *count >= per_address_max {
            let detail = format!("the client's address has {per_address_max} live streams, the maximum: close one");
            let status = StatusCode::TOO_MANY_REQUESTS;
            return Err(HttpProblem::new(status, "TOO_MANY_STREAMS", detail)
                .retry_after(RETRY_AFTER)
                .with("bound", per_address_max.to_string()));
        }
        *count += 1;
        Ok(CountedStream(Some((self.clone(), address))))
    }

    fn leave(&self, address: IpAddr) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&address) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                counts.remove(&address);
            }
        }
    }
}

impl Drop for CountedStream {
    fn drop(&mut self) {
        if let Some((streams, address)) = self.0.take() {
            streams.leave(address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_own_bound() {
        let streams = LiveStreams::default();
        let address = |last: u8| Some(IpAddr::from([10, 0, 0, last]));
        let first = streams.enter(address(1), 2).unwrap();
        let _second = streams.enter(address(1), 2).unwrap();
        let refused = streams.enter(address(1), 2).unwrap_err();
        assert_eq!((refused.status.as_u16(), &*refused.code), (429, "TOO_MANY_STREAMS"));
        let other = streams.enter(address(2), 2).unwrap();
        streams.enter(None, 0).unwrap();
        drop(first);
        drop(other);
        let _third = streams.enter(address(1), 2).unwrap();
        assert_eq!(streams.0.lock().unwrap().len(), 1);
    }
}
