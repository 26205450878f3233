//! The compiled JSON Schemas of answers.

use std::sync::Arc;

use domain::{JsonText, TenantId};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use registry::OutputSchema;
use runtime::compute::Compute;
use sha2::{Digest as _, Sha256};
use wire::status::Problem;

use record_access::problem::compute_busy;

/// Most bytes of memory of all cached schemas. One that could need more for itself is compiled for each answer.
const SCHEMAS_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Schemas that the cache has room for, if they have no patterns.
const SCHEMAS_LIKELY: usize = 512;

/// A cached schema: its tenant and the SHA-256 of its text.
type CacheKey = (TenantId, [u8; 32]);

#[derive(Clone, Copy)]
struct ByBytes;

impl Weighter<CacheKey, Arc<OutputSchema>> for ByBytes {
    fn weight(&self, _: &CacheKey, schema: &Arc<OutputSchema>) -> u64 {
        schema.size_bytes()
    }
}

/// Compiles schemas and checks answers, in the turns of their tenants.
pub(super) struct OutputSchemas {
    cache: Cache<CacheKey, Arc<OutputSchema>, ByBytes>,
    compute: Compute,
}

impl std::fmt::Debug for OutputSchemas {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("OutputSchemas").finish_non_exhaustive()
    }
}

impl OutputSchemas {
    pub(super) fn new(compute: Compute) -> Self {
        Self { cache: Cache::with_weighter(SCHEMAS_LIKELY, SCHEMAS_BYTES_MAX, ByBytes), compute }
    }

    /// Whether an answer matches a schema.
    ///
    /// # Errors
    /// The schema is invalid: the registry accepts no such schema. Or too much work of the tenant waits.
    pub(super) async fn accepts(&self, tenant: &TenantId, schema: &JsonText, answer: &str) -> Result<bool, Problem> {
        let key = (tenant.clone(), Sha256::digest(schema.as_str()).into());
        let compiled = async {
            let compiled = self.compute.run(tenant.as_str(), || OutputSchema::compile(schema).map(Arc::new));
            Ok::<_, Problem>(compiled.await.map_err(compute_busy)??)
        };
        let compiled = self.cache.get_or_insert_async(&key, compiled).await?;
        self.compute.run(tenant.as_str(), || compiled.accepts(answer)).await.map_err(compute_busy)
    }
}
