//! `kill -9` under load, of each process and of all at once; and frozen processes.

use tests::eventually::eventually_true;

use crate::fixture::{FaultTarget, Fixture};
use crate::injection::{OBSERVATIONS, run_with_faults};
use crate::workload::{Journal, Workload};

/// A fault with its target.
#[derive(Debug, Clone, Copy)]
enum ProcessFault {
    Kill(FaultTarget),
    Freeze(FaultTarget),
}

async fn check(title: &str, faults: &[ProcessFault]) {
    let mut fixture = Fixture::start().await;
    let run = run_with_faults(&mut fixture, faults, inject).await;
    run.check(title, &mut fixture).await;
}

/// Injects a fault, waits for its effect, and ends it.
async fn inject(fixture: &mut Fixture, load: &mut Workload, fault: ProcessFault) {
    let (ProcessFault::Kill(target) | ProcessFault::Freeze(target)) = fault;
    let felt = |journal: &Journal| match target {
        FaultTarget::Writer
        | FaultTarget::Writers
        | FaultTarget::Nats
        | FaultTarget::Postgres
        | FaultTarget::Everything => journal.unanswered(),
        FaultTarget::Gateway => journal.unread(),
        FaultTarget::Projector | FaultTarget::Projectors => journal.acknowledged(),
    };
    let enough = felt(&load.journal) + OBSERVATIONS;
    match fault {
        ProcessFault::Kill(_) => fixture.kill(target),
        ProcessFault::Freeze(_) => fixture.freeze(target),
    }
    let what = format!("a sign of {fault:?}");
    eventually_true(&what, || felt(&load.journal) >= enough).await;
    match fault {
        ProcessFault::Kill(_) => fixture.restart(target).await,
        ProcessFault::Freeze(_) => fixture.resume(target),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn writers() {
    let faults = [ProcessFault::Kill(FaultTarget::Writer), ProcessFault::Kill(FaultTarget::Writers)];
    check("kill -9 of writers", &faults).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn projectors() {
    let faults = [ProcessFault::Kill(FaultTarget::Projector), ProcessFault::Kill(FaultTarget::Projectors)];
    check("kill -9 of projectors", &faults).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gateway() {
    check("kill -9 of the gateway", &[ProcessFault::Kill(FaultTarget::Gateway)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nats() {
    check("kill -9 of nats-server", &[ProcessFault::Kill(FaultTarget::Nats)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nats_while_batches_are_staged_and_stored() {
    let mut fixture = Fixture::start().await.crowded();
    let faults = [ProcessFault::Kill(FaultTarget::Nats)];
    let run = run_with_faults(&mut fixture, &faults, inject).await;
    run.check("kill -9 of nats-server, commits in batches", &mut fixture).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres() {
    check("kill -9 of Postgres", &[ProcessFault::Kill(FaultTarget::Postgres)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_at_once() {
    check("kill -9 of everything at once", &[ProcessFault::Kill(FaultTarget::Everything)]).await;
}

/// Requests to frozen processes arrive late, after their retries.
#[tokio::test(flavor = "multi_thread")]
async fn frozen_servers_and_writers() {
    let faults = [
        ProcessFault::Freeze(FaultTarget::Nats),
        ProcessFault::Freeze(FaultTarget::Writer),
        ProcessFault::Freeze(FaultTarget::Postgres),
    ];
    check("nats-server, a writer and Postgres frozen for a while", &faults).await;
}
