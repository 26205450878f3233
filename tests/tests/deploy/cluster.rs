//! Three nats-servers with the cluster block of `deploy/nats/cluster.conf` and the accounts of `accounts.conf`.

use devstack::NatsServer;
use event_log::{Record, RecordConfig};
use tests::eventually::eventually;
use tests::port;
use tests::program;
use tests::stack::Stack;
use tonic::Code;

use super::permissions::append_and_read;
use tests::deploy_files as files;
use tests::nats_accounts;

/// Fewer partitions than deployed, because each is created on all three servers.
const PARTITIONS: u16 = 2;
/// Three servers and all roles start on a machine that also runs other tests.
const REQUEST_TIMEOUT_MS: u64 = 10_000;

/// The cluster block of the file, with addresses of this machine in place of the names.
fn cluster_block(own: usize, ports: [u16; 3]) -> String {
    let text = files::text("nats/cluster.conf");
    let (_, block) = text.split_once("\ncluster {").expect("a cluster block");
    let mut block = block.replace("0.0.0.0:6222", &format!("127.0.0.1:{}", ports[own]));
    for (server, port) in ports.iter().enumerate() {
        let name = format!("nats-{server}.nats-peers:6222");
        assert!(block.contains(&name), "{name}");
        block = block.replace(&name, &format!("127.0.0.1:{port}"));
    }
    format!("cluster {{{block}")
}

async fn three_servers() -> [NatsServer; 3] {
    let first = port::block(3);
    let ports = [first, first + 1, first + 2];
    let start = |own: usize| {
        let extra = nats_accounts::nats_lines() + &cluster_block(own, ports);
        devstack::test::nats_with(move |config| {
            config.server_name = format!("nats-{own}");
            config.extra = extra;
        })
    };
    let (one, two, three) = tokio::join!(start(0), start(1), start(2));
    [one, two, three]
}

fn record_of(servers: &[NatsServer; 3], user: &str) -> RecordConfig {
    let urls = servers.each_ref().map(NatsServer::url);
    RecordConfig {
        partitions: PARTITIONS,
        replicas: 3,
        request_timeout_ms: REQUEST_TIMEOUT_MS,
        monitor_url: Some(servers[0].monitor_url()),
        ..nats_accounts::record_config(&urls.join(","), user)
    }
}

fn move_to(stack: &mut Stack, servers: &[NatsServer; 3]) {
    for node in [&mut stack.writer, &mut stack.projector, &mut stack.gateway] {
        node.settings.writer.record = record_of(servers, "writer");
        node.settings.projector.record = record_of(servers, "projector");
        node.settings.gateway.record = record_of(servers, "gateway");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_role_works_on_three_servers() {
    let mut servers = Box::pin(three_servers()).await;
    eventually("a record on three servers", || async {
        Box::pin(Record::create(record_of(&servers, "operator")))
            .await
            .ok()
    })
    .await;
    let mut stack = nats_accounts::prepare(program!()).await;
    move_to(&mut stack, &servers);
    Box::pin(stack.start()).await;
    let agent = stack.agent("acme", "support").await;
    agent.create("before").await;
    Box::pin(append_and_read(&mut stack, &agent, "before")).await;
    servers[1].kill();
    // If the server was the leader, the two others elect one first.
    eventually("a chat without one server", || async {
        let begun = agent.try_create(agent.create_request("without-one")).await;
        match begun {
            Err(status) if status.code() != Code::AlreadyExists => None,
            _ => Some(()),
        }
    })
    .await;
    Box::pin(append_and_read(&mut stack, &agent, "without-one")).await;
    servers[1].restart().await.expect("a server");
    let refused: Vec<String> = servers.iter().flat_map(nats_accounts::violations).collect();
    assert_eq!(refused, Vec::<String>::new());
}
