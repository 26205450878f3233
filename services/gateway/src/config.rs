//! The configuration of the gateway, with its bounds.

use std::net::{Ipv4Addr, SocketAddr};

use archive::StoreUrl;
use egress::EgressConfig;
use event_log::RecordConfig;
use models::ModelServersConfig;
use quotas::{InvalidQuota, QuotaSet};
use read_model::ReplicatedReadModelConfig;
use runtime::config::{Bounds, Checks, Secret, Validate};
use runtime::grpc::GrpcConfig;
use runtime::tls;
use serde::{Deserialize, Serialize};

use crate::retention::RetentionConfig;
use generation::GenerationConfig;
use http_listener::config::HttpSection;

const FENCE_WAIT: Bounds<u64> = Bounds::new(0..=60_000, "ms");
const WATCHERS: Bounds<usize> = Bounds::new(1..=100_000, "watchers");

/// The idle time of a watcher before it reads the record again.
const fn watch_idle_check_ms() -> u64 {
    5_000
}

/// At most one report of the last use of a key in five minutes.
const fn key_report_every_ms() -> u64 {
    300_000
}

/// The configuration of the gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayConfig {
    /// The gRPC server.
    pub grpc: GrpcConfig,
    /// The HTTP listener.
    pub http: HttpSection,
    /// The address of the metrics and readiness endpoints.
    pub admin_addr: SocketAddr,
    /// The record. A writer must have created it.
    pub record: RecordConfig,
    /// The read model, and its replicas.
    pub read_model: ReplicatedReadModelConfig,
    /// URL of the archived segments, if they were moved from the place in the record's catalogue; empty: they were not. Used
    /// only for hibernated conversations.
    #[serde(default)]
    pub archive_url: String,
    /// The URLs of the writers, separated by commas, at most 16, each as [`runtime::tls::endpoint`] reads it. A name with several addresses
    /// is several writers. Commands go to one writer while it answers, and to another one otherwise. Reads work without a writer.
    pub writer_url: String,
    /// The gateway's own service token for the writer: scopes append and read, all tenants. While it is unknown, revoked, expired or without
    /// append for all tenants, the gateway is not ready. Empty: frontends cannot write, and abandoned runs are not ended.
    pub writer_token: Secret,
    /// The model servers, by name. `echo` is built in.
    pub models: ModelServersConfig,
    /// The servers that tenants' webhooks, JWK sets and agents may use. Use the same settings for the writer.
    pub egress: EgressConfig,
    /// The limits of runs.
    pub generation: GenerationConfig,
    /// The quotas of tenants, agents, keys, owners and addresses that the registry does not override.
    pub quotas: QuotaSet,
    /// Maximum wait of a read for the position in its token, in ms. A shorter deadline of the call ends it earlier.
    /// Raise it if reads fail while the rows lag.
    pub fence_wait_ms: u64,
    /// Maximum number of concurrent watches. Further watches are rejected. Raise it if memory is free.
    pub watchers_max: usize,
    /// A watcher without events for this long reads the record again, in ms. It is no setting.
    #[serde(skip, default = "watch_idle_check_ms")]
    pub watch_idle_check_ms: u64,
    /// The retention job. It runs under `writer_token`.
    pub retention: RetentionConfig,
    /// Interval between two reports of the last uses of keys, in ms. It is no setting.
    #[serde(skip, default = "key_report_every_ms")]
    pub key_report_every_ms: u64,
}

impl Default for GatewayConfig {
    fn default() -> Self {
        let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Self {
            grpc: GrpcConfig::at(local(7302)),
            http: HttpSection::default(),
            admin_addr: local(7312),
            record: RecordConfig::default(),
            read_model: ReplicatedReadModelConfig::default(),
            archive_url: String::new(),
            writer_url: "http://127.0.0.1:7301".to_owned(),
            writer_token: Secret::default(),
            models: ModelServersConfig::default(),
            egress: EgressConfig::default(),
            generation: GenerationConfig::default(),
            quotas: QuotaSet::deployment(),
            fence_wait_ms: 2_000,
            watchers_max: 4_000,
            watch_idle_check_ms: watch_idle_check_ms(),
            retention: RetentionConfig::default(),
            key_report_every_ms: key_report_every_ms(),
        }
    }
}

impl Validate for GatewayConfig {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.section("grpc", &self.grpc);
        checks.section("http", &self.http);
        checks.invalid_section("record", self.record.errors());
        checks.invalid_section("read_model", self.read_model.errors());
        if let Err(error) = StoreUrl::parse_moved(&self.archive_url) {
            checks.invalid("archive_url", error.to_string());
        }
        if let Err(error) = tls::endpoints(&self.writer_url) {
            checks.invalid("writer_url", error.to_string());
        }
        checks.invalid_section("models", self.models.errors());
        checks.invalid_section("egress", self.egress.errors());
        checks.section("generation", &self.generation);
        if let Err(InvalidQuota { scope, quota, error }) = self.quotas.validate() {
            let key = format!("quotas.{}.{}", scope.as_str(), quota.as_str());
            checks.invalid(&key, error.to_string());
        }
        checks.bounds("fence_wait_ms", self.fence_wait_ms, &FENCE_WAIT);
        checks.bounds("watchers_max", self.watchers_max, &WATCHERS);
        checks.section("retention", &self.retention);
    }
}
