//! A bad network between the roles and their servers: cut, slow, mute in one direction, and answers lost after the commit.

use std::net::SocketAddr;
use std::time::Duration;

use tests::eventually::eventually_true;
use tests::port;
use tests::proxy::{Direction, Proxy, Weather};

use crate::ground::{Ground, Prepared};
use crate::strike::{FELT, bout};
use crate::workload::Workload;

/// How long a slow network holds up each chunk.
const DELAY: Duration = Duration::from_millis(40);
/// Acknowledgements that a slow network, and a cut one, must let through.
const PASSED: usize = 60;
/// Answers that are lost before the network is mended.
const LOST: usize = 4;
/// Fresh reads that fail before the network to Postgres is mended.
const UNREAD: usize = 1;

/// What befalls the network.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Cut,
    Slow,
    Mute(Direction),
    LoseAnswersTo(&'static [u8]),
}

const FAULTS: [Fault; 4] = [
    Fault::Cut,
    Fault::Slow,
    Fault::Mute(Direction::ToServer),
    Fault::Mute(Direction::ToClient),
];
/// How a publish to the record begins.
const PUBLISH: &[u8] = b"HPUB hansard.";
/// How a transaction ends.
const COMMIT: &[u8] = b"COMMIT";

#[tokio::test(flavor = "multi_thread")]
async fn between_roles_and_nats() {
    let mut prepared = Prepared::of(Ground::setup()).await;
    let url = prepared.stack.servers.nats().url();
    let server = url.trim_start_matches("nats://").parse().unwrap();
    let proxy = Proxy::start(port::free(), server).await;
    let url = format!("nats://{}", proxy.addr());
    prepared.change(|settings| {
        settings.writer.record.nats_url.clone_from(&url);
        settings.projector.record.nats_url.clone_from(&url);
        settings.gateway.record.nats_url.clone_from(&url);
    });
    let mut ground = prepared.start().await;
    let mut faults = FAULTS.to_vec();
    faults.push(Fault::LoseAnswersTo(PUBLISH));
    let title = "the network to nats-server: cut, slow, mute, answers lost after the publish";
    let bout = bout(&mut ground, &faults, async |_, load, fault| {
        let enough = load.journal.unanswered() + FELT;
        let is_felt = || load.journal.unanswered() >= enough;
        strike(&proxy, load, fault, is_felt).await;
    });
    let bout = bout.await.with("answers lost", proxy.lost().to_string());
    bout.judge(title, &mut ground).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn between_roles_and_postgres() {
    let mut prepared = Prepared::of(Ground::setup()).await;
    let port = prepared.stack.servers.postgres_mut().port();
    let server = SocketAddr::from(([127, 0, 0, 1], port));
    let proxy = Proxy::start(port::free(), server).await;
    // Over TCP: a socket of the file system has no proxy.
    let url = prepared.stack.servers.database_url();
    let (url, _socket) = url.split_once('?').unwrap();
    let url = url.replacen(&format!("localhost:{port}"), &proxy.addr().to_string(), 1);
    prepared.change(|settings| {
        settings.writer.read_model.database_url.clone_from(&url);
        settings.projector.read_model.database_url.clone_from(&url);
        settings.gateway.read_model.database_url.clone_from(&url);
    });
    let mut ground = prepared.start().await;
    let mut faults = FAULTS.to_vec();
    faults.push(Fault::LoseAnswersTo(COMMIT));
    let title = "the network to Postgres: cut, slow, mute, answers lost after the commit";
    let bout = bout(&mut ground, &faults, async |_, load, fault| {
        let enough = load.journal.unread() + UNREAD;
        let is_felt = || load.journal.unread() >= enough;
        strike(&proxy, load, fault, is_felt).await;
    });
    let bout = bout.await.with("answers lost", proxy.lost().to_string());
    bout.judge(title, &mut ground).await;
}

/// Strikes, waits until that is felt, and mends it.
async fn strike(proxy: &Proxy, load: &Workload, fault: Fault, is_felt: impl Fn() -> bool) {
    match fault {
        Fault::Cut => {
            proxy.cut();
            load.acknowledged(PASSED).await;
        }
        Fault::Slow => {
            proxy.set(Weather::Slow(DELAY));
            load.acknowledged(PASSED).await;
        }
        Fault::Mute(direction) => {
            proxy.set(Weather::Muted(direction));
            let what = format!("a sign of {fault:?}");
            eventually_true(&what, is_felt).await;
        }
        Fault::LoseAnswersTo(words) => {
            proxy.set(Weather::LosesAnswersTo(words));
            let enough = proxy.lost() + LOST;
            eventually_true("answers that are lost", || proxy.lost() >= enough).await;
        }
    }
    proxy.set(Weather::Fair);
}
