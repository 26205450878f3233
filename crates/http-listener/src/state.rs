//! What every handler gets.

use std::ops::Deref;
use std::sync::Arc;

use domain::Timestamp;
use runtime::health::Health;

use super::config::HttpSection;
use super::rate_limits::RateLimits;
use crate::lag_samples::LagSamples;
use crate::openid::Provider;
use conversations::Conversations;

/// What every handler gets. Clones share it.
#[derive(Debug, Clone)]
pub struct HttpState {
    /// Reads, commands and runs.
    pub conversations: Conversations,
    /// The rate limits.
    pub limits: RateLimits,
    /// The health of the gateway.
    pub health: Health,
    /// The settings.
    pub section: Arc<HttpSection>,
    /// The provider that people of the dashboard sign in with.
    pub provider: Option<Arc<Provider>>,
    /// The lag of the last minutes.
    pub lag: LagSamples,
}

/// Handlers pass the state on as what they act through.
impl Deref for HttpState {
    type Target = Conversations;

    fn deref(&self) -> &Conversations {
        &self.conversations
    }
}

impl HttpState {
    /// The current time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.gateway.now()
    }
}
