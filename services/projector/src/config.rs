//! The projector's settings, and their bounds.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use archive::StoreUrl;
use event_log::RecordConfig;
use read_model::ReadModelConfig;
use read_model::projections::conversations::lease::LEASE_TTL_MS;
use runtime::config::{Bounds, Checks, Validate};
use serde::{Deserialize, Serialize};

const LANES: Bounds<u16> = Bounds {
    min: 1,
    max: 64,
    unit: "lanes",
};
const BATCH_ROWS: Bounds<usize> = Bounds {
    min: 1,
    max: 10_000,
    unit: "rows",
};
const BATCH_WAIT: Bounds<u64> = Bounds {
    min: 0,
    max: 1_000,
    unit: "ms",
};
const BUFFER: Bounds<u32> = Bounds {
    min: 16,
    max: 4_096,
    unit: "MiB",
};
const LEASE: Bounds<u64> = Bounds {
    min: 500,
    max: 60_000,
    unit: "ms",
};

/// The projector's settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectorConfig {
    /// Where operators find metrics and readiness.
    pub admin_addr: SocketAddr,
    /// The record, which is there already: a writer makes it.
    pub record: RecordConfig,
    /// The read model.
    pub read_model: ReadModelConfig,
    /// Whether it migrates the read model when it starts. If not, it waits until `hansard migrate` has, under a login of its own.
    pub migrates: bool,
    /// How many transactions are on their way at once, each with partitions of its own: while Postgres works on one, the
    /// next is made ready. Each takes a connection of the read model's.
    pub lanes: u16,
    /// How many rows of events make a batch full; one commit may exceed it. The more there are, the more changes of one
    /// conversation come to one, which is what a backlog of small commits gains from.
    pub batch_rows: usize,
    /// How long a batch that is not full waits for more, in ms.
    pub batch_wait_ms: u64,
    /// Most bytes of commits that are read ahead of the rows, in MiB, over all partitions.
    pub buffer_mib: u32,
    /// Where archived segments are, as a URL, when they are not where the record's catalogue says; empty: they are. Read only
    /// when rows are made that the record alone has no commits for.
    #[serde(default)]
    pub archive_url: String,
    /// How long a lease holds unless it is renewed, in ms: how soon another projector goes on after this one is lost.
    pub lease_ttl_ms: u64,
}

impl Default for ProjectorConfig {
    fn default() -> Self {
        Self {
            admin_addr: SocketAddr::from((Ipv4Addr::LOCALHOST, 7313)),
            record: RecordConfig::default(),
            read_model: ReadModelConfig::default(),
            migrates: true,
            lanes: 2,
            batch_rows: 8_000,
            batch_wait_ms: 20,
            buffer_mib: 64,
            archive_url: String::new(),
            lease_ttl_ms: LEASE_TTL_MS,
        }
    }
}

impl ProjectorConfig {
    /// How long a batch that is not full waits for more.
    #[must_use]
    pub fn batch_wait(&self) -> Duration {
        Duration::from_millis(self.batch_wait_ms)
    }
}

impl ProjectorConfig {
    /// Where archived segments are; `None`: where the catalogue says.
    #[must_use]
    pub fn archive(&self) -> Option<StoreUrl> {
        StoreUrl::parse(&self.archive_url).ok()
    }
}

impl Validate for ProjectorConfig {
    fn validate(&self, checks: &mut Checks<'_>) {
        for (key, mistake) in self.record.mistakes() {
            checks.invalid(&format!("record.{key}"), mistake);
        }
        for (key, mistake) in self.read_model.mistakes() {
            checks.invalid(&format!("read_model.{key}"), mistake);
        }
        if !self.archive_url.is_empty()
            && let Err(error) = StoreUrl::parse(&self.archive_url)
        {
            checks.invalid("archive_url", error.to_string());
        }
        checks.bounds("lanes", self.lanes, &LANES);
        checks.bounds("batch_rows", self.batch_rows, &BATCH_ROWS);
        checks.bounds("batch_wait_ms", self.batch_wait_ms, &BATCH_WAIT);
        checks.bounds("buffer_mib", self.buffer_mib, &BUFFER);
        checks.bounds("lease_ttl_ms", self.lease_ttl_ms, &LEASE);
    }
}
