//! Quotas: each at its bound and one past it, and the effect of a greedy caller on others.

mod bounds;
mod fairness;
mod fixture;
mod metering;
mod settings;
