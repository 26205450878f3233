//! The rules of all calls of one server, and whose traces it continues.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use tracing::Span;

use super::admission::Admission;
use super::method::Methods;
use crate::net::Drain;
use crate::telemetry::{Caller, TRACEPARENT};

/// The settings and state that the calls of one server share.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) methods: Methods,
    pub(super) admission: Admission,
    pub(super) unary_timeout: Duration,
    pub(super) drain: Drain,
    pub(super) trusted_callers: TrustedCallers,
}

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
