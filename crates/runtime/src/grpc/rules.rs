//! The rules of all calls of one server.

use std::time::Duration;

use super::admission::Admission;
use super::method::Methods;
use super::trusted_callers::TrustedCallers;
use crate::net::Drain;

/// The settings and state that the calls of one server share.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) methods: Methods,
    pub(super) admission: Admission,
    pub(super) unary_timeout: Duration,
    pub(super) drain: Drain,
    pub(super) trusted_callers: TrustedCallers,
}
