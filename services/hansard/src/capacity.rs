//! The capacity model: what a load needs of each role, from measured unit costs. Pure. `docs/explanation/scale.md` explains it.

mod costs;

use domain::PARTITIONS_MAX;
use serde::Serialize;

pub(crate) use costs::Role;

/// A server is planned to be busy for this part of the time, in percent.
const UTILISATION_PERCENT: u64 = 50;
const MILLICORES: u64 = 1_000;
const GIB: u64 = 1_024 * 1_024 * 1_024;

/// The load to plan for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    /// Conversations of the record.
    pub(crate) conversations: u64,
    /// Those of them that are hibernated: in the rows and in the archive, and not on the NATS servers.
    pub(crate) hibernated: u64,
    /// Events of a conversation, on average.
    pub(crate) events_per_conversation: u64,
    /// Bytes of an event, on average.
    pub(crate) event_bytes: u64,
    /// Commits of two events per second.
    pub(crate) commits_per_second: u64,
    /// Contexts of 20 messages per second.
    pub(crate) contexts_per_second: u64,
    /// Replicas of each partition.
    pub(crate) replicas: u64,
}

/// A server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Server {
    /// Processors.
    pub(crate) cores: u64,
    /// Memory in GiB.
    pub(crate) memory_gib: u64,
    /// Disk in GiB.
    pub(crate) disk_gib: u64,
}

/// What a role needs, without reserves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Need {
    /// The role.
    pub(crate) role: Role,
    /// Thousandths of a processor that is busy all the time.
    pub(crate) millicores: u64,
    /// Memory in bytes.
    pub(crate) memory_bytes: u64,
    /// Disk in bytes.
    pub(crate) disk_bytes: u64,
    /// Servers, each at most half busy.
    pub(crate) servers: u64,
}

/// The resource that is exhausted first when all of the load grows, although servers are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Bottleneck {
    /// Its name.
    pub(crate) resource: &'static str,
    /// The load at which it is exhausted, in percent of the given one; 100 and less: already.
    pub(crate) at_percent: u64,
}

/// The plan for a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Plan {
    /// The needs of every role.
    pub(crate) needs: Vec<Need>,
    /// The first bottleneck.
    pub(crate) bottleneck: Bottleneck,
}

impl Plan {
    /// Plans for a load on servers of one kind.
    #[must_use]
    pub(crate) fn of(load: &Load, server: &Server) -> Self {
        let needs = Role::ALL.map(|role| need(role, load, server));
        Self { needs: needs.to_vec(), bottleneck: bottleneck(load, server, &needs) }
    }
}

fn need(role: Role, load: &Load, server: &Server) -> Need {
    let millicores = role.micros_per_second(load).div_ceil(1_000);
    let (memory_bytes, disk_bytes) = (role.memory_bytes(load), role.disk_bytes(load));
    let busy = millicores.saturating_mul(100).div_ceil(UTILISATION_PERCENT);
    let by_resource = [
        busy.div_ceil(server.cores.saturating_mul(MILLICORES).max(1)),
        memory_bytes.div_ceil(server.memory_gib.saturating_mul(GIB).max(1)),
        disk_bytes.div_ceil(server.disk_gib.saturating_mul(GIB).max(1)),
    ];
    let least = if role == Role::Nats { load.replicas } else { 1 };
    Need { role, millicores, memory_bytes, disk_bytes, servers: by_resource.into_iter().max().unwrap_or(1).max(least) }
}

/// Everything but Postgres can be spread over more servers, NATS by its partitions.
fn bottleneck(load: &Load, server: &Server, needs: &[Need]) -> Bottleneck {
    let postgres = needs.iter().find(|need| need.role == Role::Postgres);
    let (millicores, disk) = postgres.map_or((0, 0), |need| (need.millicores, need.disk_bytes));
    let half = server.cores.saturating_mul(MILLICORES) * UTILISATION_PERCENT / 100;
    let partitions = u64::from(PARTITIONS_MAX).saturating_mul(costs::PARTITION_COMMITS_PER_SECOND);
    let resources = [
        ("processors of Postgres", half, millicores),
        ("disk of Postgres", server.disk_gib.saturating_mul(GIB), disk),
        ("commits per second of all partitions", partitions, load.commits_per_second),
    ];
    let percents = resources.map(|(resource, available, needed)| Bottleneck {
        resource,
        at_percent: available.saturating_mul(100) / needed.max(1),
    });
    let first = percents.into_iter().min_by_key(|one| one.at_percent);
    first.unwrap_or(Bottleneck { resource: "none", at_percent: u64::MAX })
}

#[cfg(test)]
mod tests;
