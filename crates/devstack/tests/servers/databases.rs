//! Databases for tests, and the user of Postgres.

use std::collections::HashSet;
use std::fs;

use devstack::StackError;

use crate::probe::{in_time, query};

#[tokio::test]
async fn concurrent_databases_are_distinct() {
    let databases = (0..8).map(|_| tokio::spawn(devstack::test::database()));
    let mut urls = HashSet::new();
    for database in databases {
        urls.insert(in_time(database).await.expect("created").url);
    }
    assert_eq!(urls.len(), 8);
}

#[tokio::test]
async fn a_database_is_created_once_and_its_name_is_checked() {
    let server = devstack::test::postgres().await;
    for _ in 0..2 {
        in_time(server.create_database("twice")).await.expect("created or existing");
    }
    let url = server.database_url("twice");
    assert_eq!(query(&server, &url, "show server_encoding"), "UTF8");
    assert_eq!(query(&server, &url, "show data_checksums"), "on");
    let error = server.create_database("bad name").await.expect_err("rejected");
    assert!(matches!(error, StackError::NoDatabase { .. }), "{error}");
}

#[tokio::test]
async fn the_url_without_host_is_for_tcp() {
    let server = devstack::test::postgres().await;
    let url = server.database_url("postgres");
    let (tcp, socket) = url.split_once("?host=").expect("a socket");
    assert!(socket.starts_with("/tmp/"));
    assert_eq!(query(&server, &url, "select inet_server_addr() is null"), "t");
    let tcp = tcp.replace("localhost", "127.0.0.1");
    assert_eq!(query(&server, &tcp, "select inet_server_addr()"), "127.0.0.1");
    assert!(tcp.contains(&format!(":{}/", server.port())));
}

#[tokio::test]
async fn postgres_never_runs_as_root() {
    let server = devstack::test::postgres().await;
    let pid = server.pid().expect("runs");
    let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else {
        return;
    };
    let ids = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let ids = line.expect("a line").split_whitespace();
        ids.map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(ids("Uid:").iter().all(|uid| uid != "0"));
    if rustix::process::geteuid().is_root() {
        let all = [ids("Uid:"), ids("Gid:")].concat();
        assert!(all.iter().all(|id| id == "65534"));
        assert!(ids("Groups:").is_empty());
    }
}

#[tokio::test]
async fn the_log_of_postgres_contains_no_data() {
    let server = devstack::test::postgres().await;
    let url = server.database_url("postgres");
    query(&server, &url, "create table t (secret text unique)");
    let output = std::process::Command::new(server.tool("psql"))
        .args(["-X", "-c", "insert into t values ('hush'), ('hush')", &url])
        .output()
        .expect("psql");
    assert!(!output.status.success());
    let log = crate::probe::log_of(server.folder());
    assert!(log.contains("duplicate key") && !log.contains("hush"), "{log}");
}
