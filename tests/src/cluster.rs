//! A cluster of nats-servers.

use devstack::NatsConfig;
use event_log::{Record, RecordConfig};
use tempfile::TempDir;

use crate::eventually::eventually;
use crate::port;

/// The servers `n0`, `n1` and so on, one in each folder. The first `members` know each other; the others join when they are started.
#[must_use]
pub fn configs(folders: &[TempDir], members: usize) -> Vec<NatsConfig> {
    let listens: Vec<_> = folders.iter().map(|_| port::free()).collect();
    let routes = listens.iter().take(members);
    let routes: Vec<_> = routes.map(|addr| format!("\"nats://{addr}\"")).collect();
    let routes = routes.join(",");
    let configs = folders.iter().zip(&listens).enumerate().map(|(index, (folder, listen))| NatsConfig {
        server_name: format!("n{index}"),
        extra: format!("cluster {{ name: test, listen: \"{listen}\", routes: [{routes}] }}"),
        ..NatsConfig::new(folder.path().join("nats"))
    });
    configs.collect()
}

/// Creates a record when the servers have formed a cluster.
///
/// # Panics
/// When they do not in time.
pub async fn create_record(config: &RecordConfig) -> Record {
    eventually("a cluster", || async {
        // Boxed, because the future is large.
        Box::pin(Record::create(config.clone())).await.ok()
    })
    .await
}
