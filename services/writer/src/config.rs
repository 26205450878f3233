//! The settings of the writer, and their bounds.

use std::net::{Ipv4Addr, SocketAddr};

use archive::StoreUrl;
use egress::EgressConfig;
use event_log::RecordConfig;
use quotas::{InvalidQuota, QuotaSet};
use read_model::ReadModelConfig;
use runtime::config::{Bounds, Checks, Validate};
use runtime::grpc::GrpcConfig;
use serde::{Deserialize, Serialize};

const HEADS_CACHED: Bounds<usize> = Bounds::new(1..=10_000_000, "heads");

/// At most one report of the last use of a key in five minutes.
const fn key_report_every_ms() -> u64 {
    300_000
}

/// The settings of the writer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WriterConfig {
    /// The gRPC server.
    pub grpc: GrpcConfig,
    /// The address of the admin port: metrics, liveness and readiness.
    pub admin_addr: SocketAddr,
    /// The record.
    pub record: RecordConfig,
    /// The read model. The writer reads old idempotency keys, stored amounts and forks from it.
    pub read_model: ReadModelConfig,
    /// URL of the archived segments, if they were moved from the place in the record's catalogue; empty: they were not. Used
    /// only for hibernated conversations.
    #[serde(default)]
    pub archive_url: String,
    /// Servers that webhooks, JWK sets and models of tenants may use. Must be equal to the setting of the gateway.
    pub egress: EgressConfig,
    /// Maximum number of cached heads, about 1 KiB each. An append to a conversation without a cached head needs one more
    /// read of about 70 µs. Raise it if more conversations are active at once.
    pub heads_cached_max: usize,
    /// Quotas of tenants, agents and owners without quotas in the registry. The writer applies `conversations`,
    /// `stored_bytes` and `appended_bytes_per_minute`.
    pub quotas: QuotaSet,
    /// Whether people of the dashboard who signed in at a provider (OpenID Connect) may change settings and keys. Gateways vouch for
    /// them: with it, a stolen gateway changes the settings of every tenant. Set it if administrators do not sign in with links.
    pub provider_sign_ins: bool,
    /// Interval between two reports of the last uses of keys, in ms. It is no setting.
    #[serde(skip, default = "key_report_every_ms")]
    pub key_report_every_ms: u64,
}

impl Default for WriterConfig {
    fn default() -> Self {
        let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Self {
            grpc: GrpcConfig::at(local(7301)),
            admin_addr: local(7311),
            record: RecordConfig::default(),
            read_model: ReadModelConfig::default(),
            archive_url: String::new(),
            egress: EgressConfig::default(),
            heads_cached_max: 50_000,
            quotas: QuotaSet::deployment(),
            provider_sign_ins: false,
            key_report_every_ms: key_report_every_ms(),
        }
    }
}

impl Validate for WriterConfig {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.section("grpc", &self.grpc);
        checks.invalid_section("record", self.record.errors());
        checks.invalid_section("read_model", self.read_model.errors());
        if let Err(error) = StoreUrl::parse_moved(&self.archive_url) {
            checks.invalid("archive_url", error.to_string());
        }
        checks.invalid_section("egress", self.egress.errors());
        checks.bounds("heads_cached_max", self.heads_cached_max, &HEADS_CACHED);
        if let Err(InvalidQuota { scope, quota, error }) = self.quotas.validate() {
            let key = format!("quotas.{}.{}", scope.as_str(), quota.as_str());
            checks.invalid(&key, error.to_string());
        }
    }
}
