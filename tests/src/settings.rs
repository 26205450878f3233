//! The settings of a test's roles. Tasks get them directly, processes as environment variables.

use std::time::Duration;

use devstack::NatsServer;
use egress::EgressConfig;
use event_log::RecordConfig;
use gateway::GatewayConfig;
use http_listener::config::RateLimit;
use projector::ProjectorConfig;
use read_model::ReadModelConfig;
use serde::Serialize;
use serde_json::Value;
use writer::WriterConfig;

use crate::port;
use crate::servers::Servers;

/// The timeout of one call of the record: short, to keep tests of outages short.
const RECORD_TIMEOUT: Duration = Duration::from_secs(3);

/// All tests call from one address.
const ADDRESS_RATE: RateLimit = RateLimit { per_second: 1_000_000, burst: 1_000_000 };

/// A role of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The writer.
    Writer,
    /// The projector.
    Projector,
    /// The gateway.
    Gateway,
}

impl Role {
    /// Its subcommand.
    #[must_use]
    pub fn command(self) -> &'static str {
        match self {
            Self::Writer => "writer",
            Self::Projector => "projector",
            Self::Gateway => "gateway",
        }
    }
}

/// The settings of every role of one stack; a test may change them before a start.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The writer's.
    pub writer: WriterConfig,
    /// The projector's.
    pub projector: ProjectorConfig,
    /// The gateway's.
    pub gateway: GatewayConfig,
    /// Further variables of processes, such as those of telemetry.
    pub variables: Vec<(String, String)>,
    /// Further variables of gateway processes, such as secrets.
    pub gateway_variables: Vec<(String, String)>,
}

impl Settings {
    /// The settings of roles on these servers, each with its own ports.
    #[must_use]
    pub fn on(servers: &Servers) -> Self {
        let mut settings = Self {
            writer: WriterConfig::default(),
            projector: ProjectorConfig::default(),
            gateway: GatewayConfig::default(),
            variables: Vec::new(),
            gateway_variables: Vec::new(),
        };
        settings.writer.record = record(servers);
        settings.projector.record = record(servers);
        settings.gateway.record = record(servers);
        let read_model = ReadModelConfig::new(servers.database_url());
        settings.writer.read_model = read_model.clone();
        settings.projector.read_model = read_model.clone();
        settings.gateway.read_model = read_model.into();
        // Tests serve webhooks and JWK sets on loopback.
        settings.writer.egress = EgressConfig::loopback();
        settings.gateway.egress = EgressConfig::loopback();
        settings.gateway.http.limits.address = ADDRESS_RATE;
        settings.gateway.http.limits.key = ADDRESS_RATE;
        settings.gateway.http.limits.session = ADDRESS_RATE;
        let mut settings = settings.with_new_ports();
        settings.gateway.writer_url = format!("http://{}", settings.writer.grpc.addr);
        settings
    }

    /// The same settings with other ports, for one more node.
    #[must_use]
    pub fn with_new_ports(mut self) -> Self {
        self.writer.grpc.addr = port::free();
        self.writer.admin_addr = port::free();
        self.projector.admin_addr = port::free();
        self.gateway.grpc.addr = port::free();
        self.gateway.http.server.addr = port::free();
        self.gateway.admin_addr = port::free();
        self
    }

    /// The settings of a role as variables of its process.
    #[must_use]
    pub fn variables_of(&self, role: Role) -> Vec<(String, String)> {
        let mut variables = match role {
            Role::Writer => flatten(&self.writer),
            Role::Projector => flatten(&self.projector),
            Role::Gateway => flatten(&self.gateway),
        };
        variables.extend(self.variables.iter().cloned());
        if role == Role::Gateway {
            variables.extend(self.gateway_variables.iter().cloned());
        }
        variables
    }
}

/// The settings of the record on these servers; every server has a replica.
#[must_use]
pub fn record(servers: &Servers) -> RecordConfig {
    let cluster = servers.cluster();
    let urls: Vec<String> = cluster.iter().map(NatsServer::url).collect();
    RecordConfig {
        replicas: cluster.len(),
        monitor_url: Some(servers.nats().monitor_url()),
        request_timeout_ms: u64::try_from(RECORD_TIMEOUT.as_millis()).unwrap_or(u64::MAX),
        ..RecordConfig::new(urls.join(","))
    }
}

/// The settings that differ from the defaults. A process of an older program rejects settings that it does not know.
fn flatten<C: Serialize + Default>(config: &C) -> Vec<(String, String)> {
    let defaults = flatten_all(&C::default());
    let mut variables = flatten_all(config);
    variables.retain(|variable| !defaults.contains(variable));
    variables
}

fn flatten_all(config: &impl Serialize) -> Vec<(String, String)> {
    let mut variables = Vec::new();
    let config = serde_json::to_value(config).expect("settings that can be written");
    flatten_into("HANSARD", &config, &mut variables);
    variables
}

fn flatten_into(name: &str, value: &Value, variables: &mut Vec<(String, String)>) {
    match value {
        Value::Object(section) => {
            for (key, value) in section {
                let separator = if name == "HANSARD" { "_" } else { "__" };
                let name = format!("{name}{separator}{}", key.to_ascii_uppercase());
                flatten_into(&name, value, variables);
            }
        }
        Value::Null => {}
        Value::String(text) => variables.push((name.to_owned(), text.clone())),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            variables.push((name.to_owned(), inline(value)));
        }
    }
}

/// A value as variables have it: as JSON, but with `=` in objects.
fn inline(value: &Value) -> String {
    match value {
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(inline).collect();
            format!("[{}]", values.join(","))
        }
        Value::Object(section) => {
            let entries: Vec<String> = section.iter().map(|(key, value)| format!("{key}={}", inline(value))).collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}
