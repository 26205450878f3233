//! Times in Postgres: a `timestamptz` of whole microseconds, rounded down, and the remaining nanoseconds in a column.

use domain::Timestamp;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArgumentBuffer, PgHasArrayType, PgTypeInfo, PgValueRef};
use sqlx::{Decode, Encode, Postgres, Type};
use time::OffsetDateTime;

/// Microseconds from 1970-01-01 to 2000-01-01, the epoch of Postgres.
const POSTGRES_EPOCH_MICROS: i64 = 946_684_800_000_000;
const NANOS_PER_MICRO: i64 = 1_000;

/// A `timestamptz`: microseconds since 2000-01-01, UTC.
///
/// Encoded as on the wire: the conversion of the `time` crate rounds times before 2000 up, so that keysets would differ
/// from the column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PgTimestamp(i64);

impl PgTimestamp {
    /// `infinity` of Postgres: later than every time.
    pub(crate) const INFINITY: Self = Self(i64::MAX);
    /// `-infinity` of Postgres: earlier than every time.
    pub(crate) const NEGATIVE_INFINITY: Self = Self(i64::MIN);

    /// The time, rounded down to the microsecond.
    pub(crate) fn from_time(time: Timestamp) -> Self {
        Self(time.0.div_euclid(NANOS_PER_MICRO) - POSTGRES_EPOCH_MICROS)
    }

    /// The number on the wire: microseconds since 2000-01-01.
    pub(crate) fn micros(self) -> i64 {
        self.0
    }

    /// The time with the nanoseconds that [`nanos_of`] split off.
    pub(crate) fn with_nanos(self, nanos: i16) -> Timestamp {
        let micros = i128::from(self.0) + i128::from(POSTGRES_EPOCH_MICROS);
        // In `i128`: the first microsecond of the range starts before it.
        let time = micros * i128::from(NANOS_PER_MICRO) + i128::from(nanos);
        let held = time.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
        Timestamp(i64::try_from(held).unwrap_or_default())
    }
}

/// The nanoseconds after the whole microsecond, 0 to 999.
pub(crate) fn nanos_of(time: Timestamp) -> i16 {
    i16::try_from(time.0.rem_euclid(NANOS_PER_MICRO)).unwrap_or(0)
}

impl Type<Postgres> for PgTimestamp {
    fn type_info() -> PgTypeInfo {
        <OffsetDateTime as Type<Postgres>>::type_info()
    }
}

impl PgHasArrayType for PgTimestamp {
    fn array_type_info() -> PgTypeInfo {
        OffsetDateTime::array_type_info()
    }
}

impl Encode<'_, Postgres> for PgTimestamp {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        <i64 as Encode<'_, Postgres>>::encode_by_ref(&self.0, buffer)
    }
}

impl Decode<'_, Postgres> for PgTimestamp {
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        <i64 as Decode<'_, Postgres>>::decode(value).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_split_and_joined_without_loss() {
        for nanos in [0, 1, -1, 999, -999, 1_000, -1_001, i64::MAX, i64::MIN, 1_700_000_000_123_456_789] {
            let time = Timestamp(nanos);
            assert_eq!(PgTimestamp::from_time(time).with_nanos(nanos_of(time)), time);
        }
        assert_eq!(PgTimestamp::from_time(Timestamp(-1)), PgTimestamp::from_time(Timestamp(-1_000)));
        assert!(PgTimestamp::from_time(Timestamp(i64::MAX)) < PgTimestamp::INFINITY);
        assert!(PgTimestamp::from_time(Timestamp(i64::MIN)) > PgTimestamp::NEGATIVE_INFINITY);
    }
}
