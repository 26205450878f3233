//! The writers of a gateway, in order of preference.
//!
//! A gateway sends to one writer while that answers: several would race for the same conversations. Which one, is random for each
//! gateway. A name with several addresses is several writers, and is resolved again while the gateway runs.
//!
//! | metric | unit | meaning |
//! |---|---|---|
//! | `hansard_gateway_writers{state}` | writers | of `writer_url`; state `up`, or `down`: the last call or health check failed |

use std::hash::{BuildHasher as _, RandomState};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::{join, join_all};
use metrics::gauge;
use tokio::net::lookup_host;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use tonic::transport::Endpoint;

use super::peer::{Destination, Peer};

/// Interval between two health checks of a writer.
const PROBE_INTERVAL: Duration = Duration::from_millis(500);
/// Interval between two resolutions of a name.
const RESOLVE_INTERVAL: Duration = Duration::from_secs(5);
/// Timeout of a resolution. Until the next one, the last addresses are used.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of addresses of one name that are used.
const ADDRESSES_MAX: usize = 16;

/// The writers of some URLs. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct WriterPool(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    peers: Arc<Peers>,
    watch: AbortHandle,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

impl WriterPool {
    /// The writers at these endpoints. Needs a tokio runtime.
    pub(super) fn new(endpoints: Vec<Endpoint>) -> Self {
        let peers = Arc::new(Peers::new(endpoints));
        let watched = Arc::clone(&peers);
        let watch = async move { join(watched.keep_resolved(), watched.keep_probed()).await };
        let watch = tokio::spawn(watch).abort_handle();
        Self(Arc::new(Shared { peers, watch }))
    }

    /// The writers, first those that answer. None: only other servers answer at the addresses.
    pub(super) fn by_preference(&self) -> Vec<Arc<Peer>> {
        let current = self.0.peers.current();
        let writers = current.iter().filter(|peer| !peer.is_foreign()).cloned();
        let (mut up, down): (Vec<_>, Vec<_>) = writers.partition(|peer| peer.is_up());
        up.extend(down);
        up
    }
}

#[derive(Debug)]
struct Peers {
    endpoints: Vec<Endpoint>,
    /// In the preferred order of this gateway.
    current: Mutex<Arc<[Arc<Peer>]>>,
    seed: RandomState,
}

impl Peers {
    fn new(endpoints: Vec<Endpoint>) -> Self {
        let peers = Self { endpoints, current: Mutex::new(Arc::new([])), seed: RandomState::new() };
        peers.update(&peers.unresolved());
        peers
    }

    /// The destinations of each endpoint, without those of names.
    fn unresolved(&self) -> Vec<Vec<Destination>> {
        self.endpoints.iter().map(|endpoint| vec![Destination::of(endpoint.uri())]).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Arc<[Arc<Peer>]>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn current(&self) -> Arc<[Arc<Peer>]> {
        Arc::clone(&self.lock())
    }

    /// Uses the destinations of each endpoint. Those that were used keep their connections.
    fn update(&self, destinations: &[Vec<Destination>]) {
        let mut wanted: Vec<(&Endpoint, &Destination)> = Vec::new();
        for (endpoint, of_endpoint) in self.endpoints.iter().zip(destinations) {
            wanted.extend(of_endpoint.iter().map(|destination| (endpoint, destination)));
        }
        wanted.sort_by_key(|(_, destination)| (self.seed.hash_one(destination), *destination));
        wanted.dedup_by_key(|(_, destination)| *destination);
        let mut current = self.lock();
        let peers = wanted.into_iter().map(|(endpoint, destination)| {
            let known = current.iter().find(|peer| peer.destination == *destination);
            known.map_or_else(|| Arc::new(Peer::new(endpoint, destination.clone())), Arc::clone)
        });
        *current = peers.collect();
    }

    /// Resolves the names again and again.
    async fn keep_resolved(&self) {
        let mut destinations = self.unresolved();
        if destinations.iter().flatten().all(|destination| destination.name().is_none()) {
            return;
        }
        loop {
            let resolved =
                join_all(self.endpoints.iter().map(|endpoint| resolve(Destination::of(endpoint.uri())))).await;
            for (known, resolved) in destinations.iter_mut().zip(resolved) {
                *known = resolved.unwrap_or_else(|| std::mem::take(known));
            }
            self.update(&destinations);
            sleep(RESOLVE_INTERVAL).await;
        }
    }

    /// Checks the health of the writers again and again.
    async fn keep_probed(&self) {
        let [up, down] = ["up", "down"].map(|state| gauge!("hansard_gateway_writers", "state" => state));
        loop {
            let peers = self.current();
            join_all(peers.iter().map(|peer| peer.probe())).await;
            let count_up = peers.iter().filter(|peer| peer.is_up()).count();
            up.set(count(count_up));
            down.set(count(peers.len().saturating_sub(count_up)));
            sleep(PROBE_INTERVAL).await;
        }
    }
}

fn count(writers: usize) -> f64 {
    u32::try_from(writers).map_or(f64::MAX, f64::from)
}

/// The destinations of a URL; `None`: its name cannot be resolved at present.
async fn resolve(host: Destination) -> Option<Vec<Destination>> {
    let Some((name, port)) = host.name() else { return Some(vec![host]) };
    let answer = timeout(RESOLVE_TIMEOUT, lookup_host((name, port))).await.ok()?.ok()?;
    Some(destinations_of(&host, answer.collect()))
}

/// The destinations of a name with these addresses. One with a single address is resolved for each connection.
fn destinations_of(name: &Destination, mut addresses: Vec<SocketAddr>) -> Vec<Destination> {
    addresses.sort();
    addresses.dedup();
    if addresses.len() < 2 {
        return vec![name.clone()];
    }
    addresses.into_iter().take(ADDRESSES_MAX).map(Destination::Address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> Destination {
        Destination::Host("writers".to_owned(), 7301)
    }

    fn address(last: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, last], 7301))
    }

    fn peers(urls: &str) -> Peers {
        Peers::new(runtime::tls::endpoints(urls).unwrap())
    }

    fn shown(peers: &Peers) -> Vec<String> {
        let mut shown: Vec<String> = peers.current().iter().map(|peer| peer.destination.to_string()).collect();
        shown.sort();
        shown
    }

    #[test]
    fn a_name_with_several_addresses_is_several_writers() {
        let check = |addresses: &[u8], expected: &[&str]| {
            let found = destinations_of(&name(), addresses.iter().copied().map(address).collect());
            assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expected, "{addresses:?}");
        };
        check(&[], &["writers:7301"]);
        check(&[1], &["writers:7301"]);
        check(&[1, 1], &["writers:7301"]);
        check(&[2, 1, 2], &["10.0.0.1:7301", "10.0.0.2:7301"]);
        let many: Vec<SocketAddr> = (0..=u8::MAX).map(address).collect();
        assert_eq!(destinations_of(&name(), many).len(), ADDRESSES_MAX);
    }

    #[tokio::test]
    async fn names_are_resolved_and_addresses_are_not() {
        assert_eq!(
            resolve(Destination::Host("::1".to_owned(), 1)).await.unwrap(),
            [Destination::Host("::1".to_owned(), 1)]
        );
        let local = resolve(Destination::Host("localhost".to_owned(), 1)).await.unwrap();
        assert!(
            local.iter().all(|one| ["localhost:1", "127.0.0.1:1", "[::1]:1"].contains(&&*one.to_string())),
            "{local:?}"
        );
        assert_eq!(resolve(Destination::Host("writers.invalid".to_owned(), 1)).await, None);
    }

    #[tokio::test]
    async fn writers_that_stay_keep_their_connections() {
        let peers = peers("http://writers:7301,http://other:1,http://other:1");
        assert_eq!(shown(&peers), ["other:1", "writers:7301"]);
        let of = |addresses: &[u8]| {
            let other = vec![Destination::Host("other".to_owned(), 1)];
            [addresses.iter().map(|last| Destination::Address(address(*last))).collect(), other.clone(), other]
        };
        peers.update(&of(&[1, 2]));
        let before = peers.current();
        peers.update(&of(&[2, 3]));
        assert_eq!(shown(&peers), ["10.0.0.2:7301", "10.0.0.3:7301", "other:1"]);
        let kept = peers.current().iter().filter(|peer| before.iter().any(|known| Arc::ptr_eq(known, peer))).count();
        assert_eq!(kept, 2);
    }

    #[tokio::test]
    async fn writers_that_answer_are_preferred() {
        let pool = WriterPool::new(runtime::tls::endpoints("http://127.0.0.1:1,http://127.0.0.1:2").unwrap());
        let [first, second] = &pool.by_preference()[..] else { panic!("two writers") };
        first.mark_down();
        assert!(Arc::ptr_eq(&pool.by_preference()[0], second));
        second.mark_down();
        assert!(Arc::ptr_eq(&pool.by_preference()[0], first));
    }
}
