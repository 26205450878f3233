//! A cluster of three nats-servers with three replicas of everything, which can be cut apart.
//!
//! The servers reach each other through proxies only, one for each way, and the roles reach each server through one more.

use std::time::Duration;

use devstack::NatsConfig;
use event_log::Record;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tests::disk::Disk;
use tests::eventually::eventually;
use tests::port;
use tests::proxy::{Proxy, Weather};
use tests::raw_nats::RawNats;
use tests::servers::nats_page;
use tests::settings;

use crate::ground::{Ground, Prepared};

/// How many servers there are.
pub(crate) const SERVERS: usize = 3;
/// How the names of the record's streams begin.
const STREAMS: &str = "HANSARD_";
/// How long one call of the record may take: an election takes seconds.
const RECORD_TIMEOUT_MS: u64 = 4_500;

/// The servers' folders, and the ways to them.
#[derive(Debug)]
pub(crate) struct Three {
    pub(crate) folders: Vec<Disk>,
    roads: Vec<Road>,
    doors: Vec<Proxy>,
}

/// The way from one server to another.
#[derive(Debug)]
struct Road {
    ends: [usize; 2],
    proxy: Proxy,
}

impl Three {
    /// A ground on three servers. The folders are to be dropped after it. Boxed, for it is large.
    pub(crate) fn start() -> BoxFuture<'static, (Self, Ground)> {
        Self::start_all().boxed()
    }

    async fn start_all() -> (Self, Ground) {
        let mut three = Self {
            folders: (0..SERVERS).map(|_| Disk::plain()).collect(),
            roads: Vec::new(),
            doors: Vec::new(),
        };
        let configs = three.configured().await;
        let mut prepared = Prepared::of(Ground::setup().with_nats(configs)).await;
        let doors = three.doors.iter();
        let urls: Vec<String> = doors
            .map(|door| format!("nats://{}", door.addr()))
            .collect();
        let urls = urls.join(",");
        prepared.change(|settings| {
            let writer = &mut settings.writer.record;
            let records = [
                &mut settings.projector.record,
                &mut settings.gateway.record,
                writer,
            ];
            for record in records {
                record.nats_url.clone_from(&urls);
                record.request_timeout_ms = RECORD_TIMEOUT_MS;
            }
        });
        let servers = &prepared.stack.servers;
        eventually("a cluster", || async {
            Box::pin(Record::create(settings::record(servers)))
                .await
                .ok()
        })
        .await;
        let ground = prepared.start().await;
        (three, ground)
    }

    async fn configured(&mut self) -> Vec<NatsConfig> {
        let listens: Vec<_> = (0..SERVERS).map(|_| port::free()).collect();
        let mut configs = Vec::new();
        for index in 0..SERVERS {
            let mut routes = Vec::new();
            for other in (0..SERVERS).filter(|other| *other != index) {
                let proxy = Proxy::start(port::free(), listens[other]).await;
                routes.push(format!("\"nats://{}\"", proxy.addr()));
                let ends = [index, other];
                self.roads.push(Road { ends, proxy });
            }
            let client = port::free();
            self.doors.push(Proxy::start(port::free(), client).await);
            // Nobody listens where the others are told to look: no way goes past the proxies. Nor are clients told of any.
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

    /// Cuts a server off from the others, and from the roles.
    pub(crate) fn part(&self, server: usize) {
        self.roads_of(server, Weather::Parted);
        self.doors[server].set(Weather::Parted);
        self.doors[server].cut();
    }

    /// Delays everything that a server and the others send to each other: as a follower it lags. The roles reach it as before.
    pub(crate) fn slow(&self, server: usize, delay: Duration) {
        self.roads_of(server, Weather::Slow(delay));
    }

    /// Changes the weather between two servers, in both directions.
    pub(crate) fn between(&self, ends: [usize; 2], weather: Weather) {
        let roads = self.roads.iter();
        let touched = roads.filter(|road| ends.iter().all(|end| road.ends.contains(end)));
        touched.for_each(|road| road.proxy.set(weather));
    }

    /// The address of one server, for a role that is to reach no other.
    pub(crate) fn url_of(&self, server: usize) -> String {
        format!("nats://{}", self.doors[server].addr())
    }

    /// Undoes [`Three::part`]: the server is called again once it knows the leaders that the others know. Until then it would
    /// answer reads as if it led.
    pub(crate) async fn join(&self, ground: &Ground, server: usize) {
        self.roads_of(server, Weather::Fair);
        let other = (server + 1) % SERVERS;
        eventually("leaders that are known to all", || async {
            let known = leaders(ground, server).await?;
            let is_led = known.iter().all(|leader| !leader.is_empty());
            (is_led && known == leaders(ground, other).await?).then_some(())
        })
        .await;
        self.doors[server].set(Weather::Fair);
    }

    fn roads_of(&self, server: usize, weather: Weather) {
        let roads = self.roads.iter();
        let touched = roads.filter(|road| road.ends.contains(&server));
        touched.for_each(|road| road.proxy.set(weather));
    }
}

fn name(index: usize) -> String {
    format!("n{index}")
}

/// The server that leads most of the record's streams.
pub(crate) async fn leader(ground: &Ground) -> usize {
    eventually("a leader", || async {
        let leaders = leaders(ground, 0).await?;
        let led = |index: &usize| {
            let led = leaders.iter().filter(|leader| **leader == name(*index));
            led.count()
        };
        (0..SERVERS).max_by_key(led)
    })
    .await
}

/// The server that leads the cluster's metadata, and so places consumers.
pub(crate) async fn metadata_leader(ground: &Ground) -> usize {
    eventually("a leader of the metadata", || async {
        let page = nats_page(ground.stack.servers.nats(), "/jsz").await?;
        let leader = page.pointer("/meta_cluster/leader")?.as_str()?.to_owned();
        (0..SERVERS).find(|index| name(*index) == leader)
    })
    .await
}

/// Has a server lead a stream.
pub(crate) async fn lead(ground: &Ground, three: &Three, stream: &str, server: usize) {
    let subject = format!("$JS.API.STREAM.LEADER.STEPDOWN.{stream}");
    let preferred = json!({"placement": {"preferred": name(server)}}).to_string();
    eventually("a leader of choice", || async {
        let all = all_streams(ground, server).await?;
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

/// Whether a server leads these streams, as each server knows it.
pub(crate) async fn leads(ground: &Ground, streams: &[&str], leader: usize) -> bool {
    for server in 0..SERVERS {
        let all = all_streams(ground, server).await.unwrap_or_default();
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

/// A server that leads as few of the record's streams as any, and the names of those that others lead.
pub(crate) async fn follower(ground: &Ground) -> (usize, Vec<String>) {
    eventually("leaders of every stream", || async {
        let streams = streams(ground, 0).await?;
        let leader = |stream: &Value| {
            stream
                .pointer("/cluster/leader")?
                .as_str()
                .map(str::to_owned)
        };
        let leaders: Vec<String> = streams.iter().map(leader).collect::<Option<_>>()?;
        let led = |index: &usize| {
            let led = leaders.iter().filter(|leader| **leader == name(*index));
            led.count()
        };
        let follower = (0..SERVERS).min_by_key(led)?;
        let others = streams.iter().zip(&leaders);
        let others = others.filter(|(_, leader)| **leader != name(follower));
        let names =
            others.filter_map(|(stream, _)| stream.get("name")?.as_str().map(str::to_owned));
        Some((follower, names.collect()))
    })
    .await
}

/// Waits until the others know of other leaders than this one for every stream.
pub(crate) async fn deposed(ground: &Ground, leader: usize) {
    eventually("new leaders", || async {
        let leaders = leaders(ground, (leader + 1) % SERVERS).await?;
        let is_new = |led: &String| !led.is_empty() && *led != name(leader);
        leaders.iter().all(is_new).then_some(())
    })
    .await;
}

/// Waits until all servers hold as much of every stream.
pub(crate) async fn agreed(ground: &Ground) {
    eventually("replicas that agree", || async {
        let states = states(ground).await?;
        let agree = states.windows(2).all(|pair| pair[0] == pair[1]);
        agree.then_some(())
    })
    .await;
}

/// Has what is erased be erased again on every server, and waits until they agree; how many commits some held until then
/// that others had removed. A server that restarts while others erase may keep some for good.
pub(crate) async fn erased_again(ground: &Ground) -> u64 {
    let states = eventually("replicas that have caught up", || async {
        let states = states(ground).await?;
        let ends = |of_server: &[Held]| of_server.iter().map(|held| held.last).collect::<Vec<_>>();
        let mut pairs = states.windows(2);
        pairs
            .all(|pair| ends(&pair[0]) == ends(&pair[1]))
            .then_some(states)
    })
    .await;
    let held = |server: &Vec<Held>| server.iter().map(|held| held.messages).sum::<u64>();
    let most = states.iter().map(held).max().unwrap_or_default();
    let least = states.iter().map(held).min().unwrap_or_default();
    let record = ground.record().await;
    for stream in record.erased_streams() {
        eventually("an erasure on every server", || async {
            record.erase_again(&stream, |_| {}).await.ok()
        })
        .await;
    }
    agreed(ground).await;
    most - least
}

/// What a server holds of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    messages: u64,
    first: u64,
    last: u64,
}

/// What each server holds of each stream.
async fn states(ground: &Ground) -> Option<Vec<Vec<Held>>> {
    let mut states = Vec::new();
    for server in 0..SERVERS {
        let streams = streams(ground, server).await?;
        let held = |stream: &Value| {
            let part = |name: &str| stream.pointer(name).and_then(Value::as_u64);
            Some(Held {
                messages: part("/state/messages")?,
                first: part("/state/first_seq")?,
                last: part("/state/last_seq")?,
            })
        };
        states.push(streams.iter().map(held).collect::<Option<_>>()?);
    }
    Some(states)
}

/// The leaders of the record's streams, as one server knows them.
async fn leaders(ground: &Ground, server: usize) -> Option<Vec<String>> {
    let leader = |stream: &Value| {
        let leader = stream.pointer("/cluster/leader").and_then(Value::as_str);
        leader.map(str::to_owned).unwrap_or_default()
    };
    Some(streams(ground, server).await?.iter().map(leader).collect())
}

/// The streams of the record, by name, as one server knows them.
async fn streams(ground: &Ground, server: usize) -> Option<Vec<Value>> {
    let name = |stream: &Value| {
        stream
            .get("name")
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let mut of_record = all_streams(ground, server).await?;
    of_record.retain(|stream| name(stream).is_some_and(|name| name.starts_with(STREAMS)));
    of_record.sort_by_key(name);
    Some(of_record)
}

/// Every stream, as one server knows it.
async fn all_streams(ground: &Ground, server: usize) -> Option<Vec<Value>> {
    let server = &ground.stack.servers.cluster()[server];
    let page = nats_page(server, "/jsz?streams=true").await?;
    let streams = page.pointer("/account_details/0/stream_detail")?;
    streams.as_array().cloned()
}
