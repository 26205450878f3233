//! Times as Postgres keeps them: whole microseconds, in a `timestamptz`, rounded down; and the nanoseconds that are left.

use domain::Timestamp;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArgumentBuffer, PgHasArrayType, PgTypeInfo, PgValueRef};
use sqlx::{Decode, Encode, Postgres, Type};
use time::OffsetDateTime;

/// Microseconds from 1970 to 2000, where Postgres begins to count.
const POSTGRES_EPOCH_MICROS: i64 = 946_684_800_000_000;
const NANOS_PER_MICRO: i64 = 1_000;

/// A `timestamptz`: microseconds since 2000-01-01, UTC.
///
/// Bound as it is on the wire: the `time` crate's own conversion rounds times before 2000 up, and keysets would then
/// compare what the column does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(i64);

impl Moment {
    /// Later than every time: Postgres's `infinity`.
    pub(crate) const INFINITY: Self = Self(i64::MAX);
    /// Earlier than every time: Postgres's `-infinity`.
    pub(crate) const NEGATIVE_INFINITY: Self = Self(i64::MIN);

    /// The microsecond that a time falls in.
    pub(crate) fn of(time: Timestamp) -> Self {
        Self(time.0.div_euclid(NANOS_PER_MICRO) - POSTGRES_EPOCH_MICROS)
    }

    /// The number that Postgres sends and is sent.
    pub(crate) fn as_sent(self) -> i64 {
        self.0
    }

    /// The time that was split into this moment and `nanos`.
    pub(crate) fn plus(self, nanos: i16) -> Timestamp {
        let micros = i128::from(self.0) + i128::from(POSTGRES_EPOCH_MICROS);
        // In wider numbers, since the first microsecond of the range begins before it.
        let time = micros * i128::from(NANOS_PER_MICRO) + i128::from(nanos);
        let held = time.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
        Timestamp(i64::try_from(held).unwrap_or_default())
    }
}

/// The nanoseconds past the microsecond that a time falls in, 0 to 999.
pub(crate) fn nanos_of(time: Timestamp) -> i16 {
    i16::try_from(time.0.rem_euclid(NANOS_PER_MICRO)).unwrap_or(0)
}

impl Type<Postgres> for Moment {
    fn type_info() -> PgTypeInfo {
        <OffsetDateTime as Type<Postgres>>::type_info()
    }
}

impl PgHasArrayType for Moment {
    fn array_type_info() -> PgTypeInfo {
        OffsetDateTime::array_type_info()
    }
}

impl Encode<'_, Postgres> for Moment {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        <i64 as Encode<'_, Postgres>>::encode_by_ref(&self.0, buffer)
    }
}

impl Decode<'_, Postgres> for Moment {
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        <i64 as Decode<'_, Postgres>>::decode(value).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_split_and_joined_without_loss() {
        for nanos in [
            0,
            1,
            -1,
            999,
            -999,
            1_000,
            -1_001,
            i64::MAX,
            i64::MIN,
            1_700_000_000_123_456_789,
        ] {
            let time = Timestamp(nanos);
            assert_eq!(Moment::of(time).plus(nanos_of(time)), time);
        }
        assert_eq!(Moment::of(Timestamp(-1)), Moment::of(Timestamp(-1_000)));
        assert!(Moment::of(Timestamp(i64::MAX)) < Moment::INFINITY);
        assert!(Moment::of(Timestamp(i64::MIN)) > Moment::NEGATIVE_INFINITY);
    }
}
