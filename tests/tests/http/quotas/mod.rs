//! Quotas: each at its bound and one past it, and what a greedy caller costs the others.

mod bounds;
mod crowd;
mod ground;
mod metering;
mod settings;
