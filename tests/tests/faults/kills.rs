//! `kill -9` under load, of each process and of all at once; and processes that freeze for a while.

use tests::eventually::eventually_true;

use crate::ground::{Ground, Victim};
use crate::strike::{FELT, bout};
use crate::workload::{Journal, Workload};

/// What befalls whom.
#[derive(Debug, Clone, Copy)]
enum Strike {
    Kill(Victim),
    Freeze(Victim),
}

async fn check(title: &str, strikes: &[Strike]) {
    let mut ground = Ground::start().await;
    let bout = bout(&mut ground, strikes, strike).await;
    bout.judge(title, &mut ground).await;
}

/// Strikes, waits until that is felt, and mends it.
async fn strike(ground: &mut Ground, load: &mut Workload, strike: Strike) {
    let (Strike::Kill(victim) | Strike::Freeze(victim)) = strike;
    let felt = |journal: &Journal| match victim {
        Victim::Writer | Victim::Writers | Victim::Nats | Victim::Postgres | Victim::Everything => {
            journal.unanswered()
        }
        Victim::Gateway => journal.unread(),
        Victim::Projector | Victim::Projectors => journal.acknowledged(),
    };
    let enough = felt(&load.journal) + FELT;
    match strike {
        Strike::Kill(_) => ground.kill(victim),
        Strike::Freeze(_) => ground.freeze(victim),
    }
    let what = format!("a sign of {strike:?}");
    eventually_true(&what, || felt(&load.journal) >= enough).await;
    match strike {
        Strike::Kill(_) => ground.revive(victim).await,
        Strike::Freeze(_) => ground.thaw(victim),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn writers() {
    let strikes = [Strike::Kill(Victim::Writer), Strike::Kill(Victim::Writers)];
    check("kill -9 of writers", &strikes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn projectors() {
    let strikes = [
        Strike::Kill(Victim::Projector),
        Strike::Kill(Victim::Projectors),
    ];
    check("kill -9 of projectors", &strikes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gateway() {
    check("kill -9 of the gateway", &[Strike::Kill(Victim::Gateway)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nats() {
    check("kill -9 of nats-server", &[Strike::Kill(Victim::Nats)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres() {
    check("kill -9 of Postgres", &[Strike::Kill(Victim::Postgres)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_at_once() {
    check(
        "kill -9 of everything at once",
        &[Strike::Kill(Victim::Everything)],
    )
    .await;
}

/// What was sent while nobody answered arrives late, after its retry.
#[tokio::test(flavor = "multi_thread")]
async fn frozen_servers_and_writers() {
    let strikes = [
        Strike::Freeze(Victim::Nats),
        Strike::Freeze(Victim::Writer),
        Strike::Freeze(Victim::Postgres),
    ];
    check(
        "nats-server, a writer and Postgres frozen for a while",
        &strikes,
    )
    .await;
}
