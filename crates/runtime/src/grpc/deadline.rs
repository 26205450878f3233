//! The deadline of a call.
//!
//! Source: the `grpc-timeout` header of
//! <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>.

use std::time::Duration;

use http::HeaderMap;
use tokio::time::Instant;
use tonic::Status;

use super::method::Kind;

const TIMEOUT_HEADER: &str = "grpc-timeout";

const TIMEOUT_DIGITS_MAX: usize = 8;

/// Subtracted from the timeout of a caller, so that our response is earlier than the timeout of the transport, which
/// returns CANCELLED.
const CALLER_MARGIN: Duration = Duration::from_millis(2);

/// The time by which a call must be answered. Handlers use it as a limit for their own waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline(Instant);

impl Deadline {
    /// The deadline of `request`. Every unary call has one; a streaming call has one if its caller set it.
    pub fn of<T>(request: &tonic::Request<T>) -> Option<Self> {
        request.extensions().get().copied()
    }

    /// The time of the deadline.
    #[must_use]
    pub const fn at(self) -> Instant {
        self.0
    }

    /// The remaining time; zero after the deadline.
    #[must_use]
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// The deadline of a call that arrived at `now`; `unary` is the maximum for unary calls.
    pub(super) fn for_call(kind: Kind, headers: &HeaderMap, unary: Duration, now: Instant) -> Option<Self> {
        let caller = headers
            .get(TIMEOUT_HEADER)
            .and_then(|value| parse(value.as_bytes()))
            .map(|timeout| timeout.saturating_sub(CALLER_MARGIN));
        let timeout = match kind {
            Kind::Unary => Some(caller.map_or(unary, |caller| caller.min(unary))),
            Kind::ServerStreaming | Kind::ClientStreaming => caller,
        };
        // A timeout beyond the range of the clock is ignored.
        timeout.and_then(|timeout| now.checked_add(timeout)).map(Self)
    }
}

pub(super) fn deadline_passed() -> Status {
    Status::deadline_exceeded("the deadline passed before the response was ready")
}

/// At most eight digits and a unit; other values are ignored.
fn parse(value: &[u8]) -> Option<Duration> {
    let (unit, digits) = value.split_last()?;
    if digits.is_empty() || digits.len() > TIMEOUT_DIGITS_MAX || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let count: u64 = str::from_utf8(digits).ok()?.parse().ok()?;
    match unit {
        b'H' => Some(Duration::from_secs(count * 3600)),
        b'M' => Some(Duration::from_secs(count * 60)),
        b'S' => Some(Duration::from_secs(count)),
        b'm' => Some(Duration::from_millis(count)),
        b'u' => Some(Duration::from_micros(count)),
        b'n' => Some(Duration::from_nanos(count)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_parsed_as_in_the_protocol() {
        let cases = [
            ("1H", Some(Duration::from_hours(1))),
            ("2M", Some(Duration::from_mins(2))),
            ("3S", Some(Duration::from_secs(3))),
            ("4m", Some(Duration::from_millis(4))),
            ("5u", Some(Duration::from_micros(5))),
            ("6n", Some(Duration::from_nanos(6))),
            ("99999999S", Some(Duration::from_secs(99_999_999))),
            ("999999999S", None),
            ("", None),
            ("S", None),
            ("+1S", None),
            ("1", None),
            ("1s", None),
        ];
        for (value, expected) in cases {
            assert_eq!(parse(value.as_bytes()), expected, "{value:?}");
        }
    }

    #[test]
    fn the_shorter_timeout_applies() {
        let (unary, now) = (Duration::from_millis(100), Instant::now());
        let cases = [
            (Kind::Unary, None, Some(100)),
            (Kind::Unary, Some("50m"), Some(48)),
            (Kind::Unary, Some("200m"), Some(100)),
            (Kind::Unary, Some("1m"), Some(0)),
            (Kind::Unary, Some("x"), Some(100)),
            (Kind::ServerStreaming, None, None),
            (Kind::ClientStreaming, Some("1S"), Some(998)),
        ];
        for (kind, header, expected_ms) in cases {
            let mut headers = HeaderMap::new();
            if let Some(value) = header {
                headers.insert(TIMEOUT_HEADER, value.parse().unwrap());
            }
            let deadline = Deadline::for_call(kind, &headers, unary, now);
            let expected = expected_ms.map(|ms| Deadline(now + Duration::from_millis(ms)));
            assert_eq!(deadline, expected, "{kind:?} {header:?}");
        }
    }
}
