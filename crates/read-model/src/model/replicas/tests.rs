//! Reads from real standbys.

use std::time::Duration;

use devstack::{PostgresServer, test};
use domain::TenantId;
use sqlx::Row as _;
use sqlx::postgres::PgArguments;
use tokio::time::{Instant, sleep};

use super::*;

const DEADLINE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(10);
/// A read on a frozen replica takes at most this much longer.
const FROZEN_MAX: Duration = Duration::from_secs(2);

const IS_STANDBY: &str = "SELECT pg_is_in_recovery()";
/// On a standby it reads until it is cancelled.
const LONG_ON_STANDBY: &str = "SELECT NOT pg_is_in_recovery() OR (SELECT count(*) FROM public.t, pg_sleep(20)) > 0";

async fn primary() -> PostgresServer {
    let primary = test::postgres().await;
    sql(&primary, "CREATE TABLE t AS SELECT 1 AS n").await;
    primary
}

fn tenant() -> TenantId {
    TenantId::parse("acme").unwrap()
}

fn url(server: &PostgresServer) -> String {
    server.database_url("postgres")
}

async fn sql(server: &PostgresServer, sql: &str) -> String {
    test::sql(server, "postgres", sql).await
}

/// A process that reads from standbys.
fn process(primary: &PostgresServer, standbys: &[&PostgresServer], lag_ms_max: u64) -> ReadModel {
    let config = ReplicatedReadModelConfig {
        replica_urls: standbys.iter().map(|standby| url(standby)).collect(),
        replica_lag_ms_max: lag_ms_max,
        ..ReadModelConfig::new(url(primary)).into()
    };
    assert_eq!(config.errors(), []);
    let model = ReadModel::connect_replicated(&config).unwrap();
    tokio::spawn(model.clone().watch_replicas());
    model
}

async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds().await {
        assert!(Instant::now() < deadline, "{what}: not in time");
        sleep(POLL).await;
    }
}

/// A request that reads from this replica.
async fn request_on(model: &ReadModel, index: usize) -> ReadModel {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let request = model.for_request(&tenant());
        if request.replica().is_some_and(|replica| replica.index() == index) {
            return request;
        }
        assert!(Instant::now() < deadline, "replica {index} is not read");
        sleep(POLL).await;
    }
}

async fn holds(request: &ReadModel, sql: &'static str) -> bool {
    let rows = request.fetch(sql, PgArguments::default).await.unwrap();
    rows[0].try_get(0).unwrap()
}

#[tokio::test]
async fn a_request_reads_its_replica_until_that_fails() {
    let primary = primary().await;
    let mut standby = test::standby(&primary).await;
    let model = process(&primary, &[&standby], REPLICA_LAG_MS_MAX);
    assert!(!holds(&model, IS_STANDBY).await, "only requests read it");

    // A crash, after which the replica could have earlier rows.
    let (first, second) = (request_on(&model, 0).await, request_on(&model, 0).await);
    assert!(holds(&first, IS_STANDBY).await && holds(&second, IS_STANDBY).await);
    standby.kill();
    assert!(!holds(&first, IS_STANDBY).await);
    standby.restart().await.unwrap();
    assert!(holds(&request_on(&model, 0).await, IS_STANDBY).await);
    for request in [&first, &second, &second.for_request(&tenant())] {
        assert!(!holds(request, IS_STANDBY).await);
    }

    // A frozen server.
    let request = request_on(&model, 0).await;
    let only = model.only_on(request.replica().unwrap()).unwrap();
    standby.pause();
    let start = Instant::now();
    assert!(!holds(&request, IS_STANDBY).await);
    assert!(start.elapsed() < FROZEN_MAX, "{:?}", start.elapsed());
    let alone = only.fetch(IS_STANDBY, PgArguments::default).await;
    assert!(alone.unwrap_err().is_unavailable());
    standby.resume();
    assert!(holds(&request_on(&model, 0).await, IS_STANDBY).await);
}

#[tokio::test]
async fn a_statement_that_conflicts_with_the_replay_is_answered_by_the_primary() {
    let primary = primary().await;
    let standby = test::standby(&primary).await;
    sql(&standby, "ALTER SYSTEM SET max_standby_streaming_delay = 0").await;
    sql(&standby, "SELECT pg_reload_conf()").await;
    let model = process(&primary, &[&standby], REPLICA_LAG_MS_MAX);
    let request = request_on(&model, 0).await;
    let reading = tokio::spawn({
        let request = request.clone();
        async move { holds(&request, LONG_ON_STANDBY).await }
    });
    let reads = "SELECT count(*) FROM pg_locks WHERE relation = 't'::regclass AND granted";
    until("the standby reads", async || sql(&standby, reads).await == "1").await;
    sql(&primary, "TRUNCATE t").await;
    assert!(reading.await.unwrap());
    assert!(!holds(&request, IS_STANDBY).await);
    assert!(holds(&request_on(&model, 0).await, IS_STANDBY).await);
}

#[tokio::test]
async fn replicas_take_turns_unless_they_lag() {
    let primary = primary().await;
    let (one, two) = tokio::join!(test::standby(&primary), test::standby(&primary));
    let model = process(&primary, &[&one, &two], 1_000);
    for index in [0, 1, 0] {
        request_on(&model, index).await;
    }
    let status = async |standby: &PostgresServer| {
        let standby = ReadModel::connect_lazy(&ReadModelConfig::new(url(standby))).unwrap();
        let wait_max = Duration::from_millis(200);
        replica_status(&model, &standby, wait_max).await.unwrap()
    };
    test::pause_replay(&primary, &one).await;
    sql(&primary, "INSERT INTO t VALUES (2)").await;
    until("it is not read", async || {
        let requests = [model.for_request(&tenant()), model.for_request(&tenant())];
        let replicas = requests.map(|request| request.replica().map(ReplicaUse::index));
        replicas == [Some(1), Some(1)]
    })
    .await;
    assert_eq!(status(&one).await, ReplicaStatus::Lagging);
    drop(two);
    until("the primary is read", async || model.for_request(&tenant()).replica().is_none()).await;
    test::resume_replay(&one).await;
    request_on(&model, 0).await;
    let complete = status(&one).await;
    assert!(matches!(complete, ReplicaStatus::Complete { .. }), "{complete:?}");
    let other = test::postgres().await;
    for server in [&primary, &other] {
        assert_eq!(status(server).await, ReplicaStatus::Unrelated);
    }
    drop(one);
}
