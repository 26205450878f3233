//! Which callers' traces are continued. Each service decides; the server asks it before a call begins.

use std::fmt;
use std::sync::Arc;

use http::HeaderMap;
use tracing::Span;

use crate::telemetry::Caller;

const TRACEPARENT: &str = "traceparent";

/// Decides by the headers of a call whether its caller is a service of the deployment; clones share it.
#[derive(Clone)]
pub(super) struct TrustedCallers(Arc<dyn Fn(&HeaderMap) -> bool + Send + Sync>);

impl TrustedCallers {
    pub(super) fn new(trusts: impl Fn(&HeaderMap) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(trusts))
    }

    /// Checks the headers only if a trace is exported and the call has one.
    pub(super) fn caller(&self, span: &Span, headers: &HeaderMap) -> Caller {
        if !span.is_disabled() && headers.contains_key(TRACEPARENT) && (self.0)(headers) {
            Caller::Trusted
        } else {
            Caller::Public
        }
    }
}

impl fmt::Debug for TrustedCallers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TrustedCallers")
    }
}
