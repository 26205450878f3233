//! Three nats-servers with TLS and the cluster block of `deploy/nats/cluster.conf` and the accounts of `accounts.conf`.

use devstack::NatsServer;
use event_log::{Record, RecordConfig};
use tests::authority::{Authority, Identity, client_parameters};
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

/// The TLS settings of the file, with the files of a certificate of this test.
fn tls_settings(authority: &Authority) -> String {
    let Identity { cert, key } = authority.sign("nats");
    let text = files::text("nats/tls.conf")
        .replace("/tls/tls.crt", &cert.display().to_string())
        .replace("/tls/tls.key", &key.display().to_string());
    text.replace("/tls/ca.crt", &authority.ca().display().to_string())
}

/// What the file has after its includes, with addresses of this machine in place of the names.
fn cluster_lines(own: usize, ports: [u16; 3], tls: &str) -> String {
    let text = files::text("nats/cluster.conf");
    let (_, block) = text.split_once("accounts.conf\n").expect("includes");
    assert_eq!(block.matches("include ./tls.conf").count(), 2);
    let mut block = block
        .replace("include ./tls.conf", &format!("\n{tls}\n"))
        .replace("0.0.0.0:6222", &format!("127.0.0.1:{}", ports[own]));
    for (server, port) in ports.iter().enumerate() {
        let name = format!("nats-{server}.nats-peers:6222");
        assert!(block.contains(&name), "{name}");
        block = block.replace(&name, &format!("127.0.0.1:{port}"));
    }
    block
}

async fn three_servers(authority: &Authority) -> [NatsServer; 3] {
    let first = port::block(3);
    let ports = [first, first + 1, first + 2];
    let tls = tls_settings(authority);
    let start = |own: usize| {
        let extra = nats_accounts::nats_lines() + &cluster_lines(own, ports, &tls);
        devstack::test::nats_with(move |config| {
            config.server_name = format!("nats-{own}");
            config.extra = extra;
        })
    };
    let (one, two, three) = tokio::join!(start(0), start(1), start(2));
    [one, two, three]
}

/// The servers, and the URL parameters with the files of a client.
struct Cluster {
    servers: [NatsServer; 3],
    client: String,
}

fn record_of(cluster: &Cluster, user: &str) -> RecordConfig {
    let urls = cluster.servers.each_ref().map(NatsServer::url);
    let urls = urls.map(|url| url.replace("nats://", "tls://") + &cluster.client);
    RecordConfig {
        partitions: PARTITIONS,
        replicas: 3,
        request_timeout_ms: REQUEST_TIMEOUT_MS,
        monitor_url: Some(cluster.servers[0].monitor_url()),
        ..nats_accounts::record_config(&urls.join(","), user)
    }
}

fn move_to(stack: &mut Stack, cluster: &Cluster) {
    for node in [&mut stack.writer, &mut stack.projector, &mut stack.gateway] {
        node.settings.writer.record = record_of(cluster, "writer");
        node.settings.projector.record = record_of(cluster, "projector");
        node.settings.gateway.record = record_of(cluster, "gateway");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_role_works_on_three_servers() {
    let authority = Authority::new("ours");
    let client = client_parameters(&authority.ca(), &authority.sign("role"));
    let servers = Box::pin(three_servers(&authority)).await;
    let mut cluster = Cluster { servers, client };
    eventually("a record on three servers", || async {
        Box::pin(Record::create(record_of(&cluster, "operator"))).await.ok()
    })
    .await;
    let mut stack = nats_accounts::prepare(program!()).await;
    move_to(&mut stack, &cluster);
    Box::pin(stack.start()).await;
    let agent = stack.agent("acme", "support").await;
    agent.create("before").await;
    Box::pin(append_and_read(&mut stack, &agent, "before")).await;
    cluster.servers[1].kill();
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
    cluster.servers[1].restart().await.expect("a server");
    let refused: Vec<String> = cluster.servers.iter().flat_map(nats_accounts::violations).collect();
    assert_eq!(refused, Vec::<String>::new());
}
