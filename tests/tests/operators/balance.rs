//! `hansard partitions balance` in a cluster: replicas move to a new server, away from one that leaves, and away from one that is lost,
//! while a caller appends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use devstack::{NatsConfig, NatsServer};
use event_log::{Record, StreamKind, StreamReplicas};
use serde_json::Value;
use tempfile::TempDir;
use tests::agent::Agent;
use tests::events::user;
use tests::eventually::eventually;
use tests::stack::{Setup, Stack};
use tests::{cluster, folder, settings};

use crate::operator_cli::{OperatorCli, lines_of};

/// Few partitions: each move takes a second.
const PARTITIONS: u16 = 2;
const CONVERSATION: &str = "c";

/// Servers `n0` to `n3`, of which the last one has not started.
struct Cluster {
    stack: Stack,
    record: Record,
    fourth: NatsConfig,
    // Dropped after the servers.
    _folders: Vec<TempDir>,
}

impl Cluster {
    async fn start() -> Self {
        let folders: Vec<_> = (0..4).map(|_| folder::enterable()).collect();
        let mut configs = cluster::configs(&folders, 3);
        let fourth = configs.pop().unwrap();
        let mut stack = Setup::tasks().with_nats(configs).prepare().await;
        stack.change(|settings| {
            settings.writer.record.partitions = PARTITIONS;
            settings.projector.record.partitions = PARTITIONS;
            settings.gateway.record.partitions = PARTITIONS;
        });
        let mut config = settings::record(&stack.servers);
        config.partitions = PARTITIONS;
        let record = cluster::create_record(&config).await;
        Box::pin(stack.start()).await;
        Self { stack, record, fourth, _folders: folders }
    }

    /// A command line with the addresses of these servers.
    fn line(&self, action: &str, fourth: &NatsServer) -> String {
        let servers = self.stack.servers.cluster().iter().chain([fourth]);
        let urls: Vec<_> = servers.map(NatsServer::url).collect();
        format!("partitions {action} --partitions {PARTITIONS} --nats-url {} --json", urls.join(","))
    }

    /// The servers of every stream.
    async fn streams(&self) -> Vec<StreamReplicas> {
        eventually("leaders of all streams", || async {
            let streams = self.record.stream_replicas().await.ok()?;
            let are_complete = streams.iter().all(StreamReplicas::is_complete);
            are_complete.then_some(streams)
        })
        .await
    }

    /// Checks that no server has two replicas more than another one, of the streams of each kind.
    async fn check_even(&self, servers: &[&str]) {
        let streams = self.streams().await;
        for kind in [StreamKind::Commits, StreamKind::Parts, StreamKind::Other] {
            let mut counts: BTreeMap<&str, usize> = servers.iter().map(|server| (*server, 0)).collect();
            let of_kind = streams.iter().filter(|stream| stream.kind == kind);
            for server in of_kind.flat_map(|stream| &stream.servers) {
                *counts.get_mut(server.as_str()).unwrap() += 1;
            }
            let (least, most) = (counts.values().min(), counts.values().max());
            assert!(most.unwrap() - least.unwrap() <= 1, "{kind:?}: {counts:?}");
        }
    }
}

/// A caller that appends until it is stopped. Every append is retried with its key until it succeeds.
struct Appends {
    stopped: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<u64>,
}

impl Appends {
    fn start(agent: &Agent) -> Self {
        let stopped = Arc::new(AtomicBool::new(false));
        let (agent, is_stopped) = (agent.clone(), Arc::clone(&stopped));
        let task = tokio::spawn(async move {
            let mut version = 1;
            while !is_stopped.load(Ordering::Relaxed) {
                let request = agent.append_request(CONVERSATION, vec![user("more")]);
                let result = eventually("an append", || async { agent.try_append(request.clone()).await.ok() });
                version += 1;
                assert_eq!(result.await.version, version);
            }
            version
        });
        Self { stopped, task }
    }

    /// The last version.
    async fn stop(self) -> u64 {
        self.stopped.store(true, Ordering::Relaxed);
        self.task.await.unwrap()
    }
}

fn of<'a>(moves: &'a [Value], what: &'a str) -> impl Iterator<Item = &'a Value> {
    moves.iter().filter(move |one| one["moved"] == what)
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_move_between_servers_while_a_caller_appends() {
    let mut cluster = Box::pin(Cluster::start()).await;
    let agent = cluster.stack.any_agent().await;
    agent.create(CONVERSATION).await;
    let cli = OperatorCli::at(&cluster.stack);
    let appends = Appends::start(&agent);

    // A fourth server joins.
    let config = cluster.fourth.clone();
    let mut fourth = NatsServer::start(config, &devstack::quiet).await.unwrap();
    let even = cluster.line("balance --replicas", &fourth);
    let planned = cli.json(&format!("{even} --dry-run"), 0).await;
    assert!(of(&planned, "replica").count() >= 4, "{planned:?}");
    assert!(of(&planned, "replica").all(|one| one["to"] == "n3"), "{planned:?}");
    let moved = cli.json(&even, 0).await;
    assert_eq!(of(&moved, "replica").count(), of(&planned, "replica").count());
    cluster.check_even(&["n0", "n1", "n2", "n3"]).await;
    assert_eq!(cli.json(&even, 0).await, Vec::<Value>::new());

    // A server is drained, and leaves.
    let drain = |server: &str, fourth: &NatsServer| cluster.line(&format!("balance --drain {server}"), fourth);
    let moved = cli.json(&drain("n0", &fourth), 0).await;
    assert!(moved.iter().all(|one| one["from"] == "n0"), "{moved:?}");
    cluster.check_even(&["n1", "n2", "n3"]).await;
    cli.check(&drain("n0", &fourth), 2, "no stream has a replica on the server n0").await;
    let line = drain("n1", &fourth);
    cluster.stack.servers.nats_mut().kill();
    let refused = cli.until(&line, 2).await;
    assert!(refused.stderr.contains("no server can take the replica"), "{refused:?}");

    // It comes back, and another one is lost.
    cluster.stack.servers.nats_mut().restart().await.unwrap();
    fourth.kill();
    let lost = cluster.line("balance --drain n3", &fourth);
    let moved = lines_of(&cli.until(&lost, 0).await.stdout);
    assert!(!moved.is_empty());
    assert!(moved.iter().all(|one| one["to"] == "n0"), "{moved:?}");
    cluster.check_even(&["n0", "n1", "n2"]).await;

    let version = appends.stop().await;
    assert!(version > 10, "{version}");
    agent.wait_for_rows(CONVERSATION, version).await;
    cli.check(&format!("verify --partitions {PARTITIONS}"), 0, "").await;
}
