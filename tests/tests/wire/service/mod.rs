//! What every role has beside its own service: health, reflection, metrics, traces, and manners when something goes away.

mod drain;
mod health;
mod limits;
mod metrics;
mod nats_away;
mod postgres_away;
mod reflection;
mod traces;
