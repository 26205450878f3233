//! `kill -9` under load, of each process and of all at once.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use tests::eventually::eventually_true;

use crate::ground::{Ground, Victim};
use crate::judgement::judge;
use crate::strike::{rounds, seed};
use crate::workload::{Journal, Workload};

/// Acknowledgements between two strikes, at random.
const BETWEEN: std::ops::Range<usize> = 200..600;
/// How often a fault is felt before it is mended.
const FELT: usize = 12;

/// Strikes the victims in turn, and judges what is left.
async fn check(title: &str, victims: &[Victim]) {
    let mut ground = Ground::start().await;
    let seed = seed();
    let mut rng = StdRng::seed_from_u64(seed);
    let load = Workload::start(&ground, seed).await;
    let rounds = rounds();
    for victim in victims.iter().cycle().take(rounds.max(victims.len())) {
        load.acknowledged(rng.random_range(BETWEEN)).await;
        strike(&mut ground, &load, *victim).await;
    }
    load.acknowledged(BETWEEN.end).await;
    let unanswered = load.journal.unanswered();
    let unread = load.journal.unread();
    let tried = load.finish().await;
    let lines = [
        ("strikes", rounds.max(victims.len()).to_string()),
        ("tries that came to nothing", unanswered.to_string()),
        ("fresh reads that failed", unread.to_string()),
    ];
    judge(&mut ground, title, &tried, &lines).await;
}

/// Kills, waits until that is felt, and starts again.
async fn strike(ground: &mut Ground, load: &Workload, victim: Victim) {
    let felt = |journal: &Journal| match victim {
        Victim::Writer | Victim::Writers | Victim::Nats | Victim::Postgres | Victim::Everything => {
            journal.unanswered()
        }
        Victim::Gateway => journal.unread(),
        Victim::Projector | Victim::Projectors => journal.acknowledged(),
    };
    let enough = felt(&load.journal) + FELT;
    ground.kill(victim);
    let what = format!("the loss of {victim:?}");
    eventually_true(&what, || felt(&load.journal) >= enough).await;
    ground.revive(victim).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writers() {
    check("kill -9 of writers", &[Victim::Writer, Victim::Writers]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn projectors() {
    check(
        "kill -9 of projectors",
        &[Victim::Projector, Victim::Projectors],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gateway() {
    check("kill -9 of the gateway", &[Victim::Gateway]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nats() {
    check("kill -9 of nats-server", &[Victim::Nats]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres() {
    check("kill -9 of Postgres", &[Victim::Postgres]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_at_once() {
    check("kill -9 of everything at once", &[Victim::Everything]).await;
}
