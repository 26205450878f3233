//! Starts writer, projector and gateway in this process.

use std::net::SocketAddr;
use std::time::Duration;

use devstack::Stack;
use egress::EgressConfig;
use event_log::{Record, RecordConfig};
use gateway::GatewayConfig;
use http_listener::config::HttpSection;
use models::ModelServersConfig;
use projector::ProjectorConfig;
use read_model::ReadModelConfig;
use runtime::grpc::GrpcConfig;
use runtime::http::HttpConfig;
use runtime::shutdown::{Shutdown, ShutdownTimeout};
use writer::WriterConfig;

use super::Args;
use super::gateway_token;
use super::master_key;
use super::ports::{PortBase, local};

/// The running roles, and the record that they share.
#[derive(Debug)]
pub(super) struct Roles {
    pub(super) record: Record,
    pub(super) writer: SocketAddr,
    pub(super) gateway: SocketAddr,
    pub(super) gateway_http: SocketAddr,
    /// The admin listener of each role.
    pub(super) admin: [(&'static str, SocketAddr); 3],
}

/// The shutdown signals of the roles. The gateway stops first, because it needs the writer to record what it still has.
#[derive(Debug, Default)]
pub(super) struct RoleShutdowns {
    gateway: Shutdown,
    backends: Shutdown,
}

impl RoleShutdowns {
    /// Waits until a role stops.
    pub(super) async fn begun(&self) {
        tokio::select! {
            () = self.gateway.begun() => {}
            () = self.backends.begun() => {}
        }
    }

    /// Stops the roles, first the gateway; `deadline` is for each.
    pub(super) async fn shut_down(&self, deadline: Duration) -> Result<(), ShutdownTimeout> {
        self.gateway.begin();
        let gateway = self.gateway.wait(deadline).await;
        self.backends.begin();
        self.backends.wait(deadline).await.and(gateway)
    }
}

/// Starts the roles.
pub(super) async fn start(
    args: &Args,
    models: ModelServersConfig,
    stack: &Stack,
    shutdowns: &RoleShutdowns,
) -> anyhow::Result<Roles> {
    let ports = args.port_base;
    let record = RecordConfig {
        accept_data_loss: args.accept_data_loss,
        monitor_url: stack.nats().map(devstack::NatsServer::monitor_url),
        master_keys: master_key::prepare(&args.data_dir()?)?,
        ..RecordConfig::new(stack.nats_url())
    };
    let read_model = ReadModelConfig::new(stack.database_url());
    let defaults = WriterConfig::default();
    let writer_config = WriterConfig {
        grpc: GrpcConfig { addr: local(ports.writer()), ..defaults.grpc },
        admin_addr: local(ports.writer_admin()),
        record: named(&record, "hansard-writer"),
        read_model: read_model.clone(),
        egress: EgressConfig::loopback(),
        ..defaults
    };
    let writer = writer::start(writer_config, &shutdowns.backends).await?;
    let projector_config = ProjectorConfig {
        admin_addr: local(ports.projector_admin()),
        record: named(&record, "hansard-projector"),
        read_model: read_model.clone(),
        ..ProjectorConfig::default()
    };
    let projector = projector::start(projector_config, &shutdowns.backends).await?;
    let gateway_config = GatewayConfig {
        record: named(&record, "hansard-gateway"),
        read_model: read_model.into(),
        writer_url: format!("http://{}", writer.grpc_addr),
        writer_token: gateway_token::prepare(named(&record, "hansard-dev"), &args.data_dir()?).await?,
        models,
        egress: EgressConfig::loopback(),
        ..gateway_at(ports)
    };
    let gateway = gateway::start(gateway_config, &shutdowns.gateway).await?;
    Ok(Roles {
        record: Record::open(named(&record, "hansard-dev")).await?,
        writer: writer.grpc_addr,
        gateway: gateway.grpc_addr,
        gateway_http: gateway.http_addr,
        admin: [("writer", writer.admin_addr), ("gateway", gateway.admin_addr), ("projector", projector.admin_addr)],
    })
}

fn gateway_at(ports: PortBase) -> GatewayConfig {
    let defaults = GatewayConfig::default();
    GatewayConfig {
        grpc: GrpcConfig { addr: local(ports.gateway()), ..defaults.grpc },
        http: HttpSection { server: HttpConfig::at(local(ports.gateway_http())), ..defaults.http },
        admin_addr: local(ports.gateway_admin()),
        ..defaults
    }
}

fn named(record: &RecordConfig, client_name: &str) -> RecordConfig {
    RecordConfig { client_name: client_name.to_owned(), ..record.clone() }
}
