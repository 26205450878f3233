//! The measured stack: its services and, if they are reachable, its servers.

use std::sync::Arc;

use event_log::Record;
use hansard::client::Service;
use tokio::sync::Mutex;
use uuid::Uuid;

use super::addresses::Addresses;
use super::baseline::Baselines;
use super::own_stack::GatewayFactory;
use super::role_process::RoleProcess;

/// A running stack.
#[derive(Debug)]
pub struct Target {
    /// Connections to the writer.
    pub writers: Vec<Service>,
    /// The gateway.
    pub gateway: Service,
    /// The agent of the measured conversations.
    pub agent: String,
    /// NATS and Postgres; without them there are no baselines and no lag.
    pub baselines: Option<Baselines>,
    /// The projector of the own stack, which suites stop and start.
    pub projector: Option<Arc<Mutex<RoleProcess>>>,
    /// Starts further gateways of the own stack.
    pub gateways: Option<GatewayFactory>,
    /// Part of every id, so that ids of runs differ.
    pub run: String,
}

impl Target {
    /// Connects with `writers` writing connections and `readers` concurrent reads.
    ///
    /// # Errors
    /// An address is invalid, or a server cannot be reached.
    pub async fn connect(
        addresses: &Addresses,
        writers: usize,
        readers: usize,
    ) -> anyhow::Result<Self> {
        let writer = || Service::at(&addresses.writer_url, &addresses.token);
        let baselines = match &addresses.servers {
            None => None,
            Some(servers) => {
                let record = Record::open(servers.record.clone()).await?;
                Some(Baselines::connect(record, servers, writers, readers).await?)
            }
        };
        Ok(Self {
            writers: (0..writers).map(|_| writer()).collect::<Result<_, _>>()?,
            gateway: Service::at(&addresses.gateway_url, &addresses.token)?,
            agent: addresses.agent.clone(),
            baselines,
            projector: None,
            gateways: None,
            run: Uuid::now_v7().simple().to_string(),
        })
    }
}
