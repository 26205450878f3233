//! Reports used slots and connections in metrics, and saturated slots in readiness.

use std::sync::Arc;
use std::time::Duration;

use metrics::gauge;
use tokio::sync::Semaphore;
use tokio::time::interval;

use super::exchange::Slots;
use crate::health::Health;

const INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Gauges {
    /// The protocol of the server, as a label of metrics.
    pub(super) server: &'static str,
    pub(super) slots: Vec<Arc<Slots>>,
    pub(super) connections: Arc<Semaphore>,
    pub(super) connections_max: usize,
}

/// Reports at each interval; never returns.
pub(super) async fn watch(gauges: Gauges, saturated_after: Duration, health: Health) {
    let mut ticks = interval(INTERVAL);
    loop {
        ticks.tick().await;
        let server = gauges.server;
        let free = gauges.connections.available_permits();
        let open = gauges.connections_max.saturating_sub(free);
        gauge!("server_connections_open", "server" => server).set(count(open));
        gauge!("server_connections_max", "server" => server).set(count(gauges.connections_max));
        for slots in &gauges.slots {
            gauge!("server_slots_used", "server" => server, "slots" => slots.kind()).set(count(slots.used()));
            gauge!("server_slots_max", "server" => server, "slots" => slots.kind()).set(count(slots.max));
            let full = slots.full_since().map(|since| since.elapsed());
            health.set_saturated(slots.name, full.is_some_and(|full| full >= saturated_after));
        }
    }
}

/// A count as the value of a metric; all counts here are below 2^32.
fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::MAX, f64::from)
}
