//! Where a context is computed: in place, or in the turn of its tenant.

use domain::TenantId;
use runtime::compute::Compute;
use wire::status::Problem;

use record_access::Gateway;
use record_access::policies::ReadyPolicy;
use record_access::problem::compute_busy;

/// Contexts of more bytes of events are computed in turns. This number takes a few milliseconds.
const COMPUTED_IN_PLACE_BYTES_MAX: usize = 256 * 1024;

/// Computes the contexts of one request. A policy with patterns or templates can cost seconds of processor time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Computing<'a> {
    compute: &'a Compute,
    tenant: &'a TenantId,
    is_costly: bool,
}

impl<'a> Computing<'a> {
    pub(super) fn of(gateway: &'a Gateway, tenant: &'a TenantId, policy: &ReadyPolicy) -> Self {
        Self { compute: &gateway.compute, tenant, is_costly: policy.is_costly() }
    }

    /// The same for events of this many bytes.
    pub(super) fn for_bytes(self, bytes: usize) -> Self {
        Self { is_costly: self.is_costly || bytes > COMPUTED_IN_PLACE_BYTES_MAX, ..self }
    }

    /// # Errors
    /// Too much work of the tenant waits.
    pub(super) async fn run<T>(self, work: impl FnOnce() -> T) -> Result<T, Problem> {
        if !self.is_costly {
            return Ok(work());
        }
        self.compute.run(self.tenant.as_str(), work).await.map_err(compute_busy)
    }
}
