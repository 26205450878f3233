//! The settings of the projector and their bounds.

use std::net::{Ipv4Addr, SocketAddr};

use archive::StoreUrl;
use event_log::RecordConfig;
use read_model::ReadModelConfig;
use read_model::projections::conversations::lease::LEASE_TTL_MS;
use runtime::config::{Bounds, Checks, Validate};
use serde::{Deserialize, Serialize};

const LANES: Bounds<u16> = Bounds::new(1..=64, "transactions");
const BUFFER: Bounds<u32> = Bounds::new(16..=4_096, "MiB");
const LEASE: Bounds<u64> = Bounds::new(500..=60_000, "ms");

/// The settings of the projector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectorConfig {
    /// Address of metrics and readiness, for operators.
    pub admin_addr: SocketAddr,
    /// The record, which a writer creates.
    pub record: RecordConfig,
    /// The read model.
    pub read_model: ReadModelConfig,
    /// The name of the shard of `read_model.shards` whose rows this projector writes; empty: those of the first database.
    #[serde(default)]
    pub shard: String,
    /// Whether to migrate the read model at the start. If not, the projector waits for `hansard migrate`, which may use another login.
    pub migrates: bool,
    /// Number of concurrent transactions, each with its own partitions: while Postgres executes one, the next is prepared.
    /// Each uses one connection of the read model. Raise it if the rows lag and Postgres has idle processors.
    pub lanes: u16,
    /// Maximum size of commits that are read and not yet written, of all partitions, in MiB.
    /// Lower it on small machines.
    pub buffer_mib: u32,
    /// URL of the archived segments, if they were moved from the place in the record's catalogue; empty: they were not. Used
    /// only to compute rows of commits that are no longer in the record.
    #[serde(default)]
    pub archive_url: String,
    /// TTL of a lease without renewal, in ms: the time after which another projector replaces a lost one.
    /// Lower it for a faster takeover; raise it if pauses of a machine cost leases.
    pub lease_ttl_ms: u64,
}

impl Default for ProjectorConfig {
    fn default() -> Self {
        Self {
            admin_addr: SocketAddr::from((Ipv4Addr::LOCALHOST, 7313)),
            record: RecordConfig::default(),
            read_model: ReadModelConfig::default(),
            shard: String::new(),
            migrates: true,
            lanes: 2,
            buffer_mib: 64,
            archive_url: String::new(),
            lease_ttl_ms: LEASE_TTL_MS,
        }
    }
}

impl ProjectorConfig {
    /// The URL of moved archived segments; `None`: the catalogue has their URL.
    #[must_use]
    pub fn archive(&self) -> Option<StoreUrl> {
        StoreUrl::parse_moved(&self.archive_url).ok().flatten()
    }
}

impl Validate for ProjectorConfig {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.invalid_section("record", self.record.errors());
        checks.invalid_section("read_model", self.read_model.errors());
        let shards = self.read_model.shards.iter();
        let names: Vec<&str> = shards.map(|shard| shard.name.as_str()).collect();
        if !self.shard.is_empty() && !names.contains(&self.shard.as_str()) {
            let shard = &self.shard;
            checks.invalid("shard", format!("is {shard}, but read_model.shards has no such shard: add it, or leave this empty for the first database"));
        }
        if let Err(error) = StoreUrl::parse_moved(&self.archive_url) {
            checks.invalid("archive_url", error.to_string());
        }
        checks.bounds("lanes", self.lanes, &LANES);
        checks.bounds("buffer_mib", self.buffer_mib, &BUFFER);
        checks.bounds("lease_ttl_ms", self.lease_ttl_ms, &LEASE);
    }
}
