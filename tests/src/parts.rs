//! Short constructors of run parts as callers write them.

use wire::proto::event::v1::RunOutcome;
use wire::proto::run::v1 as proto;
use wire::proto::run::v1::part::Kind;

/// A part of this number and kind.
#[must_use]
pub fn part(number: u64, kind: Kind) -> proto::Part {
    proto::Part { number, kind: Some(kind) }
}

/// A delta of the assistant's text.
#[must_use]
pub fn text(number: u64, text: impl Into<String>) -> proto::Part {
    part(number, Kind::TextDelta(text.into()))
}

/// A sign of life of the run.
#[must_use]
pub fn alive(number: u64) -> proto::Part {
    part(number, Kind::KeptAlive(proto::KeptAlive {}))
}

/// The end of a run.
#[must_use]
pub fn end(number: u64, outcome: RunOutcome) -> proto::Part {
    let ended = proto::RunEnded { outcome: outcome.into(), ..proto::RunEnded::default() };
    part(number, Kind::RunEnded(ended))
}
