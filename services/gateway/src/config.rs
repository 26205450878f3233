//! The gateway's settings, and their bounds.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use egress::EgressConfig;
use event_log::RecordConfig;
use models::ModelServersConfig;
use quotas::QuotaSet;
use read_model::ReadModelConfig;
use runtime::config::{Bounds, Checks, Secret, Validate};
use runtime::grpc::GrpcConfig;
use serde::{Deserialize, Serialize};

use crate::generation::GenerationConfig;
use crate::http::HttpSection;
use crate::retention::RetentionConfig;
use crate::writer::WriterClient;

const FENCE_WAIT: Bounds<u64> = Bounds {
    min: 0,
    max: 60_000,
    unit: "ms",
};
const WATCHERS: Bounds<usize> = Bounds {
    min: 1,
    max: 100_000,
    unit: "watchers",
};
const IDLE_CHECK: Bounds<u64> = Bounds {
    min: 100,
    max: 600_000,
    unit: "ms",
};

/// The gateway's settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayConfig {
    /// The gRPC server.
    pub grpc: GrpcConfig,
    /// The HTTP door.
    pub http: HttpSection,
    /// Where operators find metrics and readiness.
    pub admin_addr: SocketAddr,
    /// The record, which is there already: a writer makes it.
    pub record: RecordConfig,
    /// The read model.
    pub read_model: ReadModelConfig,
    /// The writer that takes what callers record of histories, as [`runtime::tls::endpoint`] reads it. Reads do not need it.
    pub writer_url: String,
    /// The gateway's own service token for the writer, under which it acts for frontends: scopes append and read, any
    /// tenant. Empty: frontends can record nothing, and no runs are looked after.
    pub writer_token: Secret,
    /// The model servers, by name; `echo` is there without being named.
    pub models: ModelServersConfig,
    /// Which servers tenants' webhooks, JWK sets and agents may use; the same as the writer's.
    pub egress: EgressConfig,
    /// What runs keep to.
    pub generation: GenerationConfig,
    /// What tenants, agents, keys, owners and addresses may use where the registry says nothing.
    pub quotas: QuotaSet,
    /// The longest wait for a position that a caller names, in ms; a call's own deadline may end it earlier.
    pub fence_wait_ms: u64,
    /// Most conversations watched at once; more are refused.
    pub watchers_max: usize,
    /// After how long without news a watcher compares itself with the record, in ms.
    pub watch_idle_check_ms: u64,
    /// How agents' rules of retention are seen to, under `writer_token`.
    pub retention: RetentionConfig,
}

impl Default for GatewayConfig {
    fn default() -> Self {
        let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Self {
            grpc: GrpcConfig::at(local(7302)),
            http: HttpSection::default(),
            admin_addr: local(7312),
            record: RecordConfig::default(),
            read_model: ReadModelConfig::default(),
            writer_url: "http://127.0.0.1:7301".to_owned(),
            writer_token: Secret::default(),
            models: ModelServersConfig::default(),
            egress: EgressConfig::default(),
            generation: GenerationConfig::default(),
            quotas: QuotaSet::deployment(),
            fence_wait_ms: 2_000,
            watchers_max: 4_000,
            watch_idle_check_ms: 5_000,
            retention: RetentionConfig::default(),
        }
    }
}

impl GatewayConfig {
    /// The longest wait for a position that a caller names.
    #[must_use]
    pub fn fence_wait(&self) -> Duration {
        Duration::from_millis(self.fence_wait_ms)
    }

    /// After how long without news a watcher compares itself with the record.
    #[must_use]
    pub fn watch_idle_check(&self) -> Duration {
        Duration::from_millis(self.watch_idle_check_ms)
    }
}

impl Validate for GatewayConfig {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.section("grpc", &self.grpc);
        checks.section("http", &self.http);
        for (key, mistake) in self.record.mistakes() {
            checks.invalid(&format!("record.{key}"), mistake);
        }
        for (key, mistake) in self.read_model.mistakes() {
            checks.invalid(&format!("read_model.{key}"), mistake);
        }
        if let Err(error) = WriterClient::endpoint(&self.writer_url) {
            checks.invalid("writer_url", error.to_string());
        }
        for (key, mistake) in self.models.mistakes() {
            checks.invalid(&format!("models.{key}"), mistake);
        }
        for (key, mistake) in self.egress.mistakes() {
            checks.invalid(&format!("egress.{key}"), mistake);
        }
        checks.section("generation", &self.generation);
        if let Err((scope, quota, error)) = self.quotas.validate() {
            let key = format!("quotas.{}.{}", scope.as_str(), quota.as_str());
            checks.invalid(&key, error.to_string());
        }
        checks.bounds("fence_wait_ms", self.fence_wait_ms, &FENCE_WAIT);
        checks.bounds("watchers_max", self.watchers_max, &WATCHERS);
        checks.bounds("watch_idle_check_ms", self.watch_idle_check_ms, &IDLE_CHECK);
        checks.section("retention", &self.retention);
    }
}
