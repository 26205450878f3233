//! Standbys: they follow their primary, also after a crash, and do not follow while their replay is paused.

use devstack::PostgresServer;

use crate::probe::{await_that, in_time, query};

#[tokio::test]
async fn a_standby_follows_its_primary() {
    let primary = devstack::test::postgres().await;
    in_time(primary.create_database("rows")).await.expect("created");
    let on_primary = |sql: &str| query(&primary, &primary.database_url("rows"), sql);
    on_primary("create table t as select 1 as n");
    let mut standby = in_time(devstack::test::standby(&primary)).await;
    assert_eq!(on_standby(&standby, "select pg_is_in_recovery()"), "t");
    assert_eq!(count(&standby), "1");

    on_standby(&standby, "select pg_wal_replay_pause()");
    let is_paused = "select pg_get_wal_replay_pause_state() = 'paused'";
    await_that("paused", || on_standby(&standby, is_paused) == "t");
    on_primary("insert into t values (2)");
    assert_eq!(count(&standby), "1");
    on_standby(&standby, "select pg_wal_replay_resume()");
    await_that("replayed", || count(&standby) == "2");

    standby.kill();
    on_primary("insert into t values (3)");
    in_time(standby.restart()).await.expect("restarted");
    await_that("replayed after a crash", || count(&standby) == "3");
}

fn count(standby: &PostgresServer) -> String {
    on_standby(standby, "select count(*) from t")
}

fn on_standby(standby: &PostgresServer, sql: &str) -> String {
    query(standby, &standby.database_url("rows"), sql)
}
