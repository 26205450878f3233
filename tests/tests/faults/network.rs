//! Network faults between the roles and their servers: cut, slow, one direction muted, and answers lost after the
//! commit.

use std::net::SocketAddr;
use std::time::Duration;

use tests::eventually::eventually_true;
use tests::port;
use tests::proxy::{Direction, Network, Proxy};

use crate::fixture::{Crowd, Fixture, PreparedFixture};
use crate::injection::{OBSERVATIONS, run_with_faults};
use crate::workload::Workload;

/// The delay of each chunk on a slow network.
const DELAY: Duration = Duration::from_millis(40);
/// Acknowledgements that must succeed during a slow or cut network.
const PASSED: usize = 60;
/// Answers that are lost before the network recovers.
const LOST: usize = 4;
/// Fresh reads that fail before the network to Postgres recovers.
const UNREAD: usize = 1;

/// A fault of the network.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Cut,
    Slow,
    Mute(Direction),
    LoseAnswers(&'static [u8]),
}

const FAULTS: [Fault; 4] =
    [Fault::Cut, Fault::Slow, Fault::Mute(Direction::ToServer), Fault::Mute(Direction::ToClient)];
/// The first bytes of a publish to the record.
const PUBLISH: &[u8] = b"HPUB hansard.";
/// The last bytes of a transaction.
const COMMIT: &[u8] = b"COMMIT";

#[tokio::test(flavor = "multi_thread")]
async fn between_roles_and_nats() {
    let mut faults = FAULTS.to_vec();
    faults.push(Fault::LoseAnswers(PUBLISH));
    let title = "the network to nats-server: cut, slow, mute, answers lost after the publish";
    disturb_nats(title, Crowd::None, &faults).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn between_roles_and_nats_after_batches() {
    let faults = [Fault::LoseAnswers(PUBLISH), Fault::Cut];
    let title = "the network to nats-server: answers lost after a batch, cut";
    disturb_nats(title, Crowd::OfOnePartition, &faults).await;
}

async fn disturb_nats(title: &str, crowd: Crowd, faults: &[Fault]) {
    let mut prepared = PreparedFixture::of(Fixture::setup()).await;
    let url = prepared.stack.servers.nats().url();
    let server = url.trim_start_matches("nats://").parse().unwrap();
    let proxy = Proxy::start(port::free(), server).await;
    let url = format!("nats://{}", proxy.addr());
    prepared.stack.change(|settings| {
        settings.writer.record.nats_url.clone_from(&url);
        settings.projector.record.nats_url.clone_from(&url);
        settings.gateway.record.nats_url.clone_from(&url);
    });
    let mut fixture = prepared.start().await;
    fixture.crowd = crowd;
    let run = run_with_faults(&mut fixture, faults, async |_, load, fault| {
        let enough = load.journal.unanswered() + OBSERVATIONS;
        let is_observed = || load.journal.unanswered() >= enough;
        inject(&proxy, load, fault, is_observed).await;
    })
    .await
    .with("answers lost", proxy.lost().to_string());
    run.check(title, &mut fixture).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn between_roles_and_postgres() {
    let mut prepared = PreparedFixture::of(Fixture::setup()).await;
    let port = prepared.stack.servers.postgres_mut().port();
    let server = SocketAddr::from(([127, 0, 0, 1], port));
    let proxy = Proxy::start(port::free(), server).await;
    // Over TCP, because the proxy cannot forward a Unix socket.
    let url = prepared.stack.servers.database_url();
    let (url, _socket) = url.split_once('?').unwrap();
    let url = url.replacen(&format!("localhost:{port}"), &proxy.addr().to_string(), 1);
    prepared.stack.change(|settings| {
        settings.writer.read_model.database_url.clone_from(&url);
        settings.projector.read_model.database_url.clone_from(&url);
        settings.gateway.read_model.primary.database_url.clone_from(&url);
    });
    let mut fixture = prepared.start().await;
    let mut faults = FAULTS.to_vec();
    faults.push(Fault::LoseAnswers(COMMIT));
    let title = "the network to Postgres: cut, slow, mute, answers lost after the commit";
    let run = run_with_faults(&mut fixture, &faults, async |_, load, fault| {
        let enough = load.journal.unread() + UNREAD;
        let is_observed = || load.journal.unread() >= enough;
        inject(&proxy, load, fault, is_observed).await;
    })
    .await
    .with("answers lost", proxy.lost().to_string());
    run.check(title, &mut fixture).await;
}

/// Injects a fault, waits for its effect, and ends it.
async fn inject(proxy: &Proxy, load: &Workload, fault: Fault, is_observed: impl Fn() -> bool) {
    match fault {
        Fault::Cut => {
            proxy.cut();
            load.wait_for_acknowledgements(PASSED).await;
        }
        Fault::Slow => {
            proxy.set(Network::Slow(DELAY));
            load.wait_for_acknowledgements(PASSED).await;
        }
        Fault::Mute(direction) => {
            proxy.set(Network::Muted(direction));
            let what = format!("a sign of {fault:?}");
            eventually_true(&what, is_observed).await;
        }
        Fault::LoseAnswers(words) => {
            proxy.set(Network::LosesAnswers(words));
            let enough = proxy.lost() + LOST;
            eventually_true("answers that are lost", || proxy.lost() >= enough).await;
        }
    }
    proxy.set(Network::Normal);
}
