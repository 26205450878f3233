//! Configurations of a cluster of nats-servers.

use devstack::NatsConfig;
use tempfile::TempDir;

use crate::port;

/// The servers `n0`, `n1` and so on, one in each folder. The first `members` know each other; the others join when they are started.
#[must_use]
pub fn configs(folders: &[TempDir], members: usize) -> Vec<NatsConfig> {
    let listens: Vec<_> = folders.iter().map(|_| port::free()).collect();
    let routes = listens.iter().take(members);
    let routes: Vec<_> = routes.map(|addr| format!("\"nats://{addr}\"")).collect();
    let routes = routes.join(",");
    let configs = folders.iter().zip(&listens).enumerate();
    let configs = configs.map(|(index, (folder, listen))| NatsConfig {
        server_name: format!("n{index}"),
        extra: format!("cluster {{ name: test, listen: \"{listen}\", routes: [{routes}] }}"),
        ..NatsConfig::new(folder.path().join("nats"))
    });
    configs.collect()
}
