//! `hansard.history.v1.HistoryService`.

mod access;
mod bad_fields;
mod bounds;
mod calls;
mod keys;
mod lifecycle;
mod metrics;
mod outage;
mod owners;
mod races;
mod retries;
mod round_trip;
