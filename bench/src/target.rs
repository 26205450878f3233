//! The measured stack: its services and, if they are reachable, its servers.

use std::sync::Arc;

use anyhow::Context as _;
use event_log::Record;
use hansard::client::Service;
use tokio::sync::Mutex;
use uuid::Uuid;

use super::addresses::Addresses;
use super::baseline::Baselines;
use super::cpu::CpuMeter;
use super::own_stack::GatewayFactory;
use super::role_process::RoleProcess;
use super::watch::caught_up;

pub(crate) struct Target {
    pub(crate) writers: Vec<Service>,
    pub(crate) gateway: Service,
    pub(crate) addresses: Addresses,
    /// The agent of the measured conversations.
    pub(crate) agent: String,
    /// NATS and Postgres; without them there are no baselines and no lag.
    pub(crate) baselines: Option<Baselines>,
    /// The projector of the own stack, which suites stop and start.
    pub(crate) projector: Option<Arc<Mutex<RoleProcess>>>,
    pub(crate) gateways: Option<GatewayFactory>,
    /// The processes of the own stack.
    pub(crate) cpu: Option<CpuMeter>,
    /// Part of every id, so that ids of runs differ.
    pub(crate) run: String,
}

impl Target {
    /// Waits until the rows include all commits; returns at once without the servers.
    pub(crate) async fn caught_up(&self) -> anyhow::Result<()> {
        match &self.baselines {
            Some(baselines) => caught_up(baselines).await.map(drop),
            None => Ok(()),
        }
    }

    /// NATS and Postgres, for suites that read rows.
    pub(crate) fn required_baselines(&self) -> anyhow::Result<&Baselines> {
        let missing = "this suite reads rows: give --nats-url and --database-url";
        self.baselines.as_ref().context(missing)
    }

    pub(crate) fn writer(&self) -> anyhow::Result<&Service> {
        self.writers.first().context("no writer")
    }

    /// Connects with `writers` writing connections and `readers` concurrent reads.
    pub(crate) async fn connect(addresses: &Addresses, writers: usize, readers: usize) -> anyhow::Result<Self> {
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
            addresses: addresses.clone(),
            agent: addresses.agent.clone(),
            baselines,
            projector: None,
            gateways: None,
            cpu: None,
            run: Uuid::now_v7().simple().to_string(),
        })
    }
}
