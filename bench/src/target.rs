//! What is measured: where its services are, and the servers below them where they can be reached.

use std::sync::Arc;

use event_log::Record;
use hansard::client::Service;
use tokio::sync::Mutex;
use uuid::Uuid;

use super::addresses::Addresses;
use super::floor::Floors;
use super::own_stack::MoreGateways;
use super::role_process::RoleProcess;

/// A running stack.
#[derive(Debug)]
pub struct Target {
    /// Connections to the writer.
    pub writers: Vec<Service>,
    /// The gateway.
    pub gateway: Service,
    /// The agent that the measured conversations are with.
    pub agent: String,
    /// NATS and Postgres themselves; without them there is nothing to compare with, and no lag to see.
    pub floors: Option<Floors>,
    /// The projector, where it may be stopped and started.
    pub projector: Option<Arc<Mutex<RoleProcess>>>,
    /// What starts further gateways, where there may be some.
    pub gateways: Option<MoreGateways>,
    /// Part of every id, so that runs do not meet.
    pub run: String,
}

impl Target {
    /// Connects; `writers` connections write, `readers` reads are made at once.
    ///
    /// # Errors
    /// An address is wrong, or a server below cannot be reached.
    pub async fn connect(
        addresses: &Addresses,
        writers: usize,
        readers: usize,
    ) -> anyhow::Result<Self> {
        let writer = || Service::at(&addresses.writer_url, &addresses.token);
        let floors = match &addresses.servers {
            None => None,
            Some(servers) => {
                let record = Record::open(servers.record.clone()).await?;
                Some(Floors::connect(record, servers, (writers, readers)).await?)
            }
        };
        Ok(Self {
            writers: std::iter::repeat_with(writer)
                .take(writers)
                .collect::<Result<_, _>>()?,
            gateway: Service::at(&addresses.gateway_url, &addresses.token)?,
            agent: addresses.agent.clone(),
            floors,
            projector: None,
            gateways: None,
            run: Uuid::now_v7().simple().to_string(),
        })
    }
}
