//! Measures the replicas.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::{join, join_all};
use metrics::gauge;
use tokio::time::{Instant, sleep};

use super::lag::PrimaryLog;
use super::measure::{self, DatabaseId, Measured};
use super::{Replica, Replicas};
use crate::model::ReadModel;

/// Interval between two measurements of a server.
const MEASURE_INTERVAL: Duration = Duration::from_millis(100);
/// Pause after a measurement that failed.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The measurements of the primary.
#[derive(Debug, Default)]
struct Primary {
    id: Option<DatabaseId>,
    log: PrimaryLog,
}

#[derive(Debug, Default)]
struct SharedPrimary(Mutex<Primary>);

impl SharedPrimary {
    fn lock(&self) -> MutexGuard<'_, Primary> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until when the rows of a replica are complete; `None`: unknown.
    fn complete_until(&self, replica: Measured) -> Result<Option<Instant>, &'static str> {
        let primary = self.lock();
        let Some(position) = replica.position else {
            return Err("the server is no replica");
        };
        match primary.id {
            Some(id) if id != replica.id => Err("the server is no replica of the primary"),
            Some(_) => Ok(primary.log.complete_until(position)),
            None => Ok(None),
        }
    }
}

impl ReadModel {
    /// Measures the replicas of all databases until the future is dropped; returns at once if there are none. Without it no replica is
    /// read.
    pub async fn watch_replicas(self) {
        let databases = self.databases().into_iter();
        join_all(databases.map(Self::watch_own_replicas)).await;
    }

    async fn watch_own_replicas(self) {
        let Some(replicas) = &self.replicas else {
            return;
        };
        let primary = SharedPrimary::default();
        let watches = replicas.all.iter().map(|replica| watch_replica(replica, &primary));
        join(watch_primary(replicas, &primary), join_all(watches)).await;
    }
}

/// While the primary does not answer, the lag of replicas is unknown: it grows.
async fn watch_primary(replicas: &Replicas, primary: &SharedPrimary) {
    loop {
        let at = Instant::now();
        let pause = match measure::primary(&replicas.primary).await {
            Ok(measured) => {
                let mut primary = primary.lock();
                primary.id = Some(measured.id);
                if let Some(position) = measured.position {
                    primary.log.push(at, position);
                }
                MEASURE_INTERVAL
            }
            // The health check of the process logs it.
            Err(_) => RETRY_PAUSE,
        };
        sleep(pause).await;
    }
}

async fn watch_replica(replica: &Replica, primary: &SharedPrimary) {
    let name = replica.name.as_str();
    let lag = gauge!("hansard_gateway_replica_lag_seconds", "replica" => name.to_owned());
    let reachable = gauge!("hansard_gateway_replica_reachable", "replica" => name.to_owned());
    let mut was_reachable = None;
    loop {
        let generation = replica.health.borrow().generation;
        let measured = measure::replica(&replica.probe).await.map_err(|error| error.to_string());
        let complete = measured.and_then(|measured| primary.complete_until(measured).map_err(str::to_owned));
        let is_reachable = complete.is_ok();
        match &complete {
            Ok(until) => replica.update(generation, *until),
            Err(_) => replica.lose(generation),
        }
        match &complete {
            Err(error) if was_reachable != Some(false) => {
                tracing::warn!(replica = name, error, "replica is not read: check it");
            }
            Ok(_) if was_reachable == Some(false) => {
                tracing::info!(replica = name, "replica answers again");
            }
            Ok(_) | Err(_) => {}
        }
        was_reachable = Some(is_reachable);
        reachable.set(f64::from(u8::from(is_reachable)));
        if let Some(until) = replica.health.borrow().complete_until {
            lag.set(until.elapsed().as_secs_f64());
        }
        sleep(if is_reachable { MEASURE_INTERVAL } else { RETRY_PAUSE }).await;
    }
}

impl Replica {
    /// Stores a measurement, unless a connection was lost since it began.
    fn update(&self, generation: u64, complete_until: Option<Instant>) {
        self.health.send_modify(|health| {
            if health.generation == generation {
                health.is_reachable = true;
                health.complete_until = complete_until.or(health.complete_until);
            }
        });
    }
}
