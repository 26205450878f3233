//! What every role has beside its own service: health, reflection, metrics, traces, and behaviour in outages.

mod drain;
mod health;
mod limits;
mod metrics;
mod nats_outage;
mod postgres_outage;
mod reflection;
mod traces;
