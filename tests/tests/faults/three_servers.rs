//! A cluster of three nats-servers with three replicas, whose servers can be partitioned.
//!
//! The servers reach each other only through proxies, one per direction; the roles reach each server through another
//! proxy.

use std::time::Duration;

use devstack::NatsConfig;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tests::cluster;
use tests::disk::Disk;
use tests::eventually::eventually;
use tests::port;
use tests::proxy::{Network, Proxy};
use tests::raw_nats::RawNats;
use tests::servers::nats_page;
use tests::settings;

use crate::fixture::{Fixture, PreparedFixture};

/// The number of servers.
pub(crate) const SERVERS: usize = 3;
/// The prefix of the record's streams.
const STREAMS: &str = "HANSARD_";
/// The timeout of one call of the record: an election takes seconds.
const RECORD_TIMEOUT_MS: u64 = 4_500;

/// The servers' folders, and the proxies in front of them.
#[derive(Debug)]
pub(crate) struct ThreeServers {
    pub(crate) folders: Vec<Disk>,
    links: Vec<Link>,
    role_proxies: Vec<Proxy>,
}

/// The proxy from one server to another.
#[derive(Debug)]
struct Link {
    ends: [usize; 2],
    proxy: Proxy,
}

impl ThreeServers {
    /// A fixture with three servers. The caller drops the folders after it. Boxed, because the future is large.
    pub(crate) fn start() -> BoxFuture<'static, (Self, Fixture)> {
        Self::start_all().boxed()
    }

    async fn start_all() -> (Self, Fixture) {
        let mut three = Self {
            folders: (0..SERVERS).map(|_| Disk::plain()).collect(),
            links: Vec::new(),
            role_proxies: Vec::new(),
        };
        let configs = three.configs().await;
        let mut prepared = PreparedFixture::of(Fixture::setup().with_nats(configs)).await;
        let role_proxies = three.role_proxies.iter();
        let urls: Vec<String> = role_proxies.map(|proxy| format!("nats://{}", proxy.addr())).collect();
        let urls = urls.join(",");
        prepared.stack.change(|settings| {
            let writer = &mut settings.writer.record;
            let records = [&mut settings.projector.record, &mut settings.gateway.record, writer];
            for record in records {
                record.nats_url.clone_from(&urls);
                record.request_timeout_ms = RECORD_TIMEOUT_MS;
            }
        });
        cluster::create_record(&settings::record(&prepared.stack.servers)).await;
        let fixture = prepared.start().await;
        (three, fixture)
    }

    async fn configs(&mut self) -> Vec<NatsConfig> {
        let listens: Vec<_> = (0..SERVERS).map(|_| port::free()).collect();
        let mut configs = Vec::new();
        for index in 0..SERVERS {
            let mut routes = Vec::new();
            for other in (0..SERVERS).filter(|other| *other != index) {
                let proxy = Proxy::start(port::free(), listens[other]).await;
                routes.push(format!("\"nats://{}\"", proxy.addr()));
                let ends = [index, other];
                self.links.push(Link { ends, proxy });
            }
            let client = port::free();
            self.role_proxies.push(Proxy::start(port::free(), client).await);
            // Nothing listens at the advertised address, so all traffic uses the proxies. Clients get no other URLs.
            let extra = format!(
                "cluster {{ name: test, listen: \"{}\", advertise: \"{}\", no_advertise: true, routes: [{}] }}",
                listens[index],
                port::free(),
                routes.join(",")
            );
            configs.push(NatsConfig {
                port: Some(client.port()),
                server_name: name(index),
                extra,
                ..NatsConfig::new(self.folders[index].folder())
            });
        }
        configs
    }

    /// Partitions a server from the others and from the roles.
    pub(crate) fn partition(&self, server: usize) {
        self.links_of(server, Network::Stopped);
        self.role_proxies[server].set(Network::Stopped);
        self.role_proxies[server].cut();
    }

    /// Delays the traffic between a server and the others, so that it lags as a follower. Roles reach it without delay.
    pub(crate) fn slow(&self, server: usize, delay: Duration) {
        self.links_of(server, Network::Slow(delay));
    }

    /// Sets the network between two servers, in both directions.
    pub(crate) fn set_between(&self, ends: [usize; 2], network: Network) {
        let links = self.links.iter();
        let touched = links.filter(|link| ends.iter().all(|end| link.ends.contains(end)));
        touched.for_each(|link| link.proxy.set(network));
    }

    /// The address of one server, for a role that uses no other.
    pub(crate) fn url_of(&self, server: usize) -> String {
        format!("nats://{}", self.role_proxies[server].addr())
    }

    /// Undoes [`ThreeServers::partition`]. Roles are connected after the server knows the current leaders; before that it would
    /// answer reads as a leader.
    pub(crate) async fn join(&self, fixture: &Fixture, server: usize) {
        self.links_of(server, Network::Normal);
        let other = (server + 1) % SERVERS;
        eventually("leaders that are known to all", || async {
            let known = leaders(fixture, server).await?;
            let is_led = known.iter().all(|leader| !leader.is_empty());
            (is_led && known == leaders(fixture, other).await?).then_some(())
        })
        .await;
        self.role_proxies[server].set(Network::Normal);
    }

    fn links_of(&self, server: usize, network: Network) {
        let links = self.links.iter();
        let touched = links.filter(|link| link.ends.contains(&server));
        touched.for_each(|link| link.proxy.set(network));
    }
}

fn name(index: usize) -> String {
    format!("n{index}")
}

/// The server that leads most of the record's streams.
pub(crate) async fn leader(fixture: &Fixture) -> usize {
    eventually("a leader", || async {
        let leaders = leaders(fixture, 0).await?;
        let led = |index: &usize| {
            let led = leaders.iter().filter(|leader| **leader == name(*index));
            led.count()
        };
        (0..SERVERS).max_by_key(led)
    })
    .await
}

/// The leader of the cluster's metadata, which places consumers.
pub(crate) async fn metadata_leader(fixture: &Fixture) -> usize {
    eventually("a leader of the metadata", || async {
        let page = nats_page(fixture.stack.servers.nats(), "/jsz").await?;
        let leader = page.pointer("/meta_cluster/leader")?.as_str()?.to_owned();
        (0..SERVERS).find(|index| name(*index) == leader)
    })
    .await
}

/// Makes a server the leader of a stream.
pub(crate) async fn lead(fixture: &Fixture, three: &ThreeServers, stream: &str, server: usize) {
    let subject = format!("$JS.API.STREAM.LEADER.STEPDOWN.{stream}");
    let preferred = json!({"placement": {"preferred": name(server)}}).to_string();
    eventually("a leader of choice", || async {
        let all = all_streams(fixture, server).await?;
        let found = all.iter().find(|one| one["name"] == stream)?;
        if found.pointer("/cluster/leader")?.as_str()? == name(server) {
            return Some(());
        }
        let mut nats = RawNats::connect(&three.url_of(server), "", "").await;
        nats.publish(&subject, "_INBOX.x", &preferred).await;
        None
    })
    .await;
}

/// Whether a server leads these streams, as all servers know.
pub(crate) async fn leads(fixture: &Fixture, streams: &[&str], leader: usize) -> bool {
    for server in 0..SERVERS {
        let all = all_streams(fixture, server).await.unwrap_or_default();
        let is_led = |stream: &&str| {
            let found = all.iter().find(|one| one["name"] == **stream);
            let known = found.and_then(|found| found.pointer("/cluster/leader"));
            known.and_then(Value::as_str) == Some(&name(leader))
        };
        if !streams.iter().all(is_led) {
            return false;
        }
    }
    true
}

/// The server with the fewest led streams, and the names of the streams of other leaders.
pub(crate) async fn follower(fixture: &Fixture) -> (usize, Vec<String>) {
    eventually("leaders of every stream", || async {
        let streams = streams(fixture, 0).await?;
        let leader = |stream: &Value| stream.pointer("/cluster/leader")?.as_str().map(str::to_owned);
        let leaders: Vec<String> = streams.iter().map(leader).collect::<Option<_>>()?;
        let led = |index: &usize| {
            let led = leaders.iter().filter(|leader| **leader == name(*index));
            led.count()
        };
        let follower = (0..SERVERS).min_by_key(led)?;
        let others = streams.iter().zip(&leaders).filter(|(_, leader)| **leader != name(follower));
        let names = others.filter_map(|(stream, _)| stream.get("name")?.as_str().map(str::to_owned));
        Some((follower, names.collect()))
    })
    .await
}

/// Waits until the others know new leaders of every stream.
pub(crate) async fn wait_for_new_leaders(fixture: &Fixture, leader: usize) {
    eventually("new leaders", || async {
        let leaders = leaders(fixture, (leader + 1) % SERVERS).await?;
        let is_new = |led: &String| !led.is_empty() && *led != name(leader);
        leaders.iter().all(is_new).then_some(())
    })
    .await;
}

/// Waits until all servers have the same messages of every stream.
pub(crate) async fn wait_for_agreement(fixture: &Fixture) {
    eventually("replicas that agree", || async {
        let states = states(fixture).await?;
        let agree = states.windows(2).all(|pair| pair[0] == pair[1]);
        agree.then_some(())
    })
    .await;
}

/// Erases erased commits again on every server, and waits until the servers agree; returns how many commits only some
/// servers still had. A server that restarts during an erasure may keep some permanently.
pub(crate) async fn repeat_erasures(fixture: &Fixture) -> u64 {
    let states = eventually("replicas that have caught up", || async {
        let states = states(fixture).await?;
        let ends = |of_server: &[StreamState]| of_server.iter().map(|held| held.last).collect::<Vec<_>>();
        let mut pairs = states.windows(2);
        pairs.all(|pair| ends(&pair[0]) == ends(&pair[1])).then_some(states)
    })
    .await;
    let held = |server: &Vec<StreamState>| server.iter().map(|held| held.messages).sum::<u64>();
    let most = states.iter().map(held).max().unwrap_or_default();
    let least = states.iter().map(held).min().unwrap_or_default();
    let record = fixture.record().await;
    for stream in record.erased_streams() {
        eventually("an erasure on every server", || async { record.erase_again(&stream, |_| {}).await.ok() }).await;
    }
    wait_for_agreement(fixture).await;
    most - least
}

/// The messages of a stream on a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StreamState {
    messages: u64,
    first: u64,
    last: u64,
}

/// The messages of each stream on each server.
async fn states(fixture: &Fixture) -> Option<Vec<Vec<StreamState>>> {
    let mut states = Vec::new();
    for server in 0..SERVERS {
        let streams = streams(fixture, server).await?;
        let held = |stream: &Value| {
            let partition = |name: &str| stream.pointer(name).and_then(Value::as_u64);
            Some(StreamState {
                messages: partition("/state/messages")?,
                first: partition("/state/first_seq")?,
                last: partition("/state/last_seq")?,
            })
        };
        states.push(streams.iter().map(held).collect::<Option<_>>()?);
    }
    Some(states)
}

/// The leaders of the record's streams, as one server knows them.
async fn leaders(fixture: &Fixture, server: usize) -> Option<Vec<String>> {
    let leader = |stream: &Value| {
        let leader = stream.pointer("/cluster/leader").and_then(Value::as_str);
        leader.map(str::to_owned).unwrap_or_default()
    };
    Some(streams(fixture, server).await?.iter().map(leader).collect())
}

/// The streams of the record, by name, as one server knows them.
async fn streams(fixture: &Fixture, server: usize) -> Option<Vec<Value>> {
    let name = |stream: &Value| stream.get("name").and_then(Value::as_str).map(str::to_owned);
    let mut of_record = all_streams(fixture, server).await?;
    of_record.retain(|stream| name(stream).is_some_and(|name| name.starts_with(STREAMS)));
    of_record.sort_by_key(name);
    Some(of_record)
}

/// Every stream, as one server knows it.
async fn all_streams(fixture: &Fixture, server: usize) -> Option<Vec<Value>> {
    let server = &fixture.stack.servers.cluster()[server];
    let page = nats_page(server, "/jsz?streams=true").await?;
    let streams = page.pointer("/account_details/0/stream_detail")?;
    streams.as_array().cloned()
}
