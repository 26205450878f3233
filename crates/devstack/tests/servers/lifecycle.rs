//! Start, use, restart, pause, stop.

use std::fs;
use std::sync::Mutex;

use devstack::{NatsConfig, NatsServer, PostgresServer, ServerChoice, Stack, StackConfig, Step, quiet};

use crate::probe::{ask, folder, in_time, query, runs};

const STREAM: &str = r#"{"name":"T","subjects":["t.>"],"storage":"file"}"#;

fn managed(stack: &Stack) -> (&NatsServer, &PostgresServer) {
    (stack.nats().expect("managed"), stack.postgres().expect("managed"))
}

#[tokio::test]
async fn both_servers_start_work_and_stop() {
    let home = folder();
    let steps = Mutex::new(Vec::new());
    let note = |step| steps.lock().expect("steps").push(step);
    let stack = in_time(devstack::start(StackConfig::new(home.path()), &note)).await.expect("stack");
    let (nats, postgres) = managed(&stack);

    assert!(ask(nats, "$JS.API.STREAM.CREATE.T", STREAM).contains(r#""name":"T""#));
    let sum = query(postgres, &stack.database_url(), "select 40 + 2");
    assert_eq!(sum, "42");
    assert_eq!(stack.nats_url(), nats.url());
    let steps = steps.into_inner().expect("steps");
    let ready = steps.iter().filter(|step| matches!(step, Step::Ready(..)));
    assert_eq!(ready.count(), 2);
    assert!(nats.folder().starts_with("/"));

    let pids = [nats.pid().expect("runs"), postgres.pid().expect("runs")];
    in_time(stack.stop()).await;
    assert!(pids.into_iter().all(|pid| !runs(pid)));
}

#[tokio::test]
async fn a_second_start_has_the_data() {
    let home = folder();
    for round in 1..=2 {
        let config = StackConfig::new(home.path());
        let stack = in_time(devstack::start(config, &quiet)).await.expect("stack");
        let (nats, postgres) = managed(&stack);
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
async fn a_url_starts_no_server() {
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
async fn a_used_port_is_replaced() {
    let used = std::net::TcpListener::bind("127.0.0.1:0").expect("port");
    let port = used.local_addr().expect("address").port();
    let server = devstack::test::nats_with(|config| config.port = Some(port)).await;
    assert_ne!(server.url(), format!("nats://127.0.0.1:{port}"));
    assert!(ask(&server, "$JS.API.INFO", "").contains("account_info_response"));
}

#[tokio::test]
async fn the_error_of_a_bad_configuration_names_the_line() {
    let home = folder();
    let config = NatsConfig { extra: "nonsense: {".to_owned(), ..NatsConfig::new(home.path()) };
    let error = in_time(NatsServer::start(config, &quiet)).await.expect_err("no start");
    let text = error.to_string();
    assert!(text.contains("nats-server did not start") && text.contains("line 12"), "{text}");
    assert!(home.path().join("server.log").exists());
}

#[tokio::test]
async fn a_paused_server_does_not_answer_and_can_be_resumed() {
    let mut server = devstack::test::nats().await;
    let state = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("Linux");
        stat.rsplit_once(')').expect("stat").1.trim_start().chars().next()
    };
    let pid = server.pid().expect("runs");
    server.pause();
    crate::probe::await_that("paused", || !cfg!(target_os = "linux") || state(pid) == Some('T'));
    server.resume();
    assert!(ask(&server, "$JS.API.INFO", "").contains("account_info_response"));
    server.pause();
    in_time(server.stop()).await;
    assert!(!runs(pid));
}
