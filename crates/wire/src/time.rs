//! Conversions of timestamps.

use domain::{Timestamp, Violation, ViolationReason};

/// A time as protobuf.
#[must_use]
pub fn to_proto(time: Timestamp) -> prost_types::Timestamp {
    prost_types::Timestamp { seconds: time.seconds(), nanos: i32::try_from(time.subsecond_nanos()).unwrap_or(0) }
}

/// A time as the domain type.
///
/// # Errors
/// [`ViolationReason::OutOfRange`] outside the years 1677 to 2262, or with nanoseconds outside 0 to 999,999,999.
pub fn from_proto(time: prost_types::Timestamp) -> Result<Timestamp, Violation> {
    u32::try_from(time.nanos).ok().and_then(|nanos| Timestamp::from_parts(time.seconds, nanos)).ok_or_else(|| {
        Violation::new(
            ViolationReason::OutOfRange,
            "is outside the years 1677 to 2262, or its nanos are outside 0 to 999999999",
        )
    })
}
