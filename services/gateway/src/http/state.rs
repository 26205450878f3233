//! What every endpoint is given.

use std::sync::Arc;

use runtime::health::Health;

use super::config::HttpSection;
use super::limits::RateLimits;
use crate::Gateway;
use crate::generation::Generations;
use crate::writer::Writer;

/// What every endpoint is given. Clones share it.
#[derive(Debug, Clone)]
pub struct HttpState {
    /// Reads.
    pub gateway: Gateway,
    /// Writes, under the caller's own leave.
    pub writer: Writer,
    /// Runs, under the gateway's own token.
    pub generations: Generations,
    /// How often who may ask.
    pub limits: RateLimits,
    /// Whether the gateway can do its work.
    pub health: Health,
    /// The door's settings.
    pub section: Arc<HttpSection>,
}

impl HttpState {
    /// The state of a door with these settings.
    #[must_use]
    pub fn new(
        gateway: Gateway,
        (writer, generations): (Writer, Generations),
        health: Health,
        section: HttpSection,
    ) -> Self {
        Self {
            gateway,
            writer,
            generations,
            limits: RateLimits::new(&section),
            health,
            section: Arc::new(section),
        }
    }
}
