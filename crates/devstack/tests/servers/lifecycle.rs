//! Start, use, restart, freeze, stop.

use std::fs;
use std::sync::Mutex;

use devstack::{NatsConfig, ServerChoice, StackConfig, Step, quiet};

use crate::probe::{ask, folder, in_time, query, runs};

const STREAM: &str = r#"{"name":"T","subjects":["t.>"],"storage":"file"}"#;

#[tokio::test]
async fn both_start_answer_and_stop() {
    let home = folder();
    let steps = Mutex::new(Vec::new());
    let note = |step| steps.lock().expect("steps").push(step);
    let stack = in_time(devstack::start(StackConfig::new(home.path()), &note))
        .await
        .expect("stack");
    let (nats, postgres) = (stack.nats().expect("ours"), stack.postgres().expect("ours"));

    assert!(ask(nats, "$JS.API.STREAM.CREATE.T", STREAM).contains(r#""name":"T""#));
    assert_eq!(
        query(postgres, &stack.database_url(), "select 40 + 2"),
        "42"
    );
    assert_eq!(stack.nats_url(), nats.url());
    let ready = |step: &Step| matches!(step, Step::Ready(..));
    assert_eq!(
        steps
            .lock()
            .expect("steps")
            .iter()
            .filter(|step| ready(step))
            .count(),
        2
    );
    assert!(matches!(stack.nats(), Some(server) if server.folder().starts_with("/")));

    let pids = [nats.pid().expect("runs"), postgres.pid().expect("runs")];
    in_time(stack.stop()).await;
    assert!(pids.into_iter().all(|pid| !runs(pid)));
}

#[tokio::test]
async fn a_second_start_finds_the_data() {
    let home = folder();
    for round in 1..=2 {
        let config = StackConfig::new(home.path());
        let stack = in_time(devstack::start(config, &quiet))
            .await
            .expect("stack");
        let (nats, postgres) = (stack.nats().expect("ours"), stack.postgres().expect("ours"));
        ask(nats, "$JS.API.STREAM.CREATE.T", STREAM);
        assert!(ask(nats, "t.a", "x").contains(&format!(r#""seq":{round}"#)));
        let sql = "create table if not exists kept (n int); insert into kept values (1)";
        query(postgres, &stack.database_url(), sql);
        let count = query(postgres, &stack.database_url(), "select count(*) from kept");
        assert_eq!(count, round.to_string());
        in_time(stack.stop()).await;
    }
}

#[tokio::test]
async fn a_given_url_starts_nothing() {
    let home = folder();
    let mut config = StackConfig::new(home.path().join("unused"));
    config.nats = ServerChoice::Url("nats://elsewhere:4222".to_owned());
    config.postgres = ServerChoice::Url("postgres://elsewhere/db".to_owned());
    let stack = devstack::start(config, &quiet).await.expect("stack");
    assert!(stack.nats().is_none() && stack.postgres().is_none());
    assert_eq!(stack.nats_url(), "nats://elsewhere:4222");
    assert_eq!(stack.database_url(), "postgres://elsewhere/db");
    assert!(!home.path().join("unused").exists());
}

#[tokio::test]
async fn a_taken_port_gives_another() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("port");
    let port = taken.local_addr().expect("address").port();
    let server = devstack::test::nats_with(|config| config.port = Some(port)).await;
    assert_ne!(server.url(), format!("nats://127.0.0.1:{port}"));
    assert!(ask(&server, "$JS.API.INFO", "").contains("account_info_response"));
}

#[tokio::test]
async fn a_bad_configuration_says_its_line() {
    let home = folder();
    let config = NatsConfig {
        extra: "nonsense: {".to_owned(),
        ..NatsConfig::new(home.path())
    };
    let error = in_time(devstack::NatsServer::start(config, &quiet))
        .await
        .expect_err("no start");
    let text = error.to_string();
    assert!(
        text.contains("nats-server did not start") && text.contains("line 11"),
        "{text}"
    );
    assert!(home.path().join("server.log").exists());
}

#[tokio::test]
async fn a_frozen_server_is_silent_and_comes_back() {
    let mut server = devstack::test::nats().await;
    let state = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("Linux");
        stat.rsplit_once(')')
            .expect("stat")
            .1
            .trim_start()
            .chars()
            .next()
    };
    let pid = server.pid().expect("runs");
    server.pause();
    crate::probe::await_that("frozen", || {
        !cfg!(target_os = "linux") || state(pid) == Some('T')
    });
    server.resume();
    assert!(ask(&server, "$JS.API.INFO", "").contains("account_info_response"));
    server.pause();
    in_time(server.stop()).await;
    assert!(!runs(pid));
}
