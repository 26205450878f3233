//! Recovery after kills.

use std::fs;
use std::process::Command;

use devstack::{
    NatsServer, PostgresConfig, PostgresServer, Profile, RESTARTS_MAX, ServerChoice, Stack, StackConfig, StackError,
    Step, quiet,
};

use crate::probe::{ask, folder, in_time, kill_hard, query};

const STREAM: &str = r#"{"name":"T","subjects":["t.>"],"storage":"file"}"#;

#[tokio::test]
async fn nats_killed_keeps_port_and_data() {
    let mut server = devstack::test::nats().await;
    ask(&server, "$JS.API.STREAM.CREATE.T", STREAM);
    let url = server.url();
    for sequence in 1..=3 {
        assert!(ask(&server, "t.a", "x").contains(&format!(r#""seq":{sequence}"#)));
        server.kill();
        assert_eq!(server.pid(), None);
        in_time(server.restart()).await.expect("restart");
    }
    assert_eq!(server.url(), url);
}

#[tokio::test]
async fn postgres_killed_keeps_port_and_data() {
    let mut server = devstack::test::postgres().await;
    in_time(server.create_database("kept")).await.expect("database");
    let url = server.database_url("kept");
    query(&server, &url, "create table t (n int)");
    for count in 1..=3 {
        query(&server, &url, "insert into t values (1)");
        server.kill();
        in_time(server.restart()).await.expect("restart");
        assert_eq!(query(&server, &url, "select count(*) from t"), count.to_string());
    }
    assert_eq!(server.database_url("kept"), url);
}

/// Keeps the stack running until this number of servers is ready again.
async fn await_restarts(stack: &mut Stack, count: usize) -> Result<(), StackError> {
    let (sender, mut steps) = tokio::sync::mpsc::unbounded_channel();
    let note = move |step| sender.send(step).expect("a listener");
    let restarted = async {
        let mut ready = 0;
        while ready < count {
            ready += usize::from(matches!(steps.recv().await, Some(Step::Ready(..))));
        }
    };
    tokio::select! {
        ended = stack.keep_running(&note) => ended.map(|_| ()),
        () = in_time(restarted) => Ok(()),
    }
}

#[tokio::test]
async fn servers_that_end_by_themselves_are_restarted() {
    let home = folder();
    let config = StackConfig { profile: Profile::Test, ..StackConfig::new(home.path()) };
    let mut stack = in_time(devstack::start(config, &quiet)).await.expect("stack");
    let urls = (stack.nats_url(), stack.database_url());
    let pids = [stack.nats().and_then(NatsServer::pid), stack.postgres().and_then(PostgresServer::pid)];
    pids.into_iter().flatten().for_each(kill_hard);
    await_restarts(&mut stack, 2).await.expect("restarted");
    assert_eq!((stack.nats_url(), stack.database_url()), urls);
    assert!(ask(stack.nats().expect("managed"), "$JS.API.INFO", "").contains("account_info"));
    let postgres = stack.postgres().expect("managed");
    assert_eq!(query(postgres, &urls.1, "select 1"), "1");
    in_time(stack.stop()).await;
}

#[tokio::test]
async fn restarts_of_one_server_are_limited() {
    let home = folder();
    let postgres = ServerChoice::Url("postgres://elsewhere/db".to_owned());
    let config = StackConfig { postgres, ..StackConfig::new(home.path()) };
    let mut stack = in_time(devstack::start(config, &quiet)).await.expect("stack");
    for restart in 0..=RESTARTS_MAX {
        kill_hard(stack.nats().and_then(NatsServer::pid).expect("runs"));
        let outcome = await_restarts(&mut stack, 1).await;
        let limited = matches!(outcome, Err(StackError::KeepsEnding { .. }));
        assert_eq!(limited, restart == RESTARTS_MAX, "{outcome:?}");
    }
}

#[tokio::test]
async fn a_stale_lock_with_the_process_id_of_another_program_is_replaced() {
    let home = folder();
    let config = PostgresConfig { profile: Profile::Test, ..PostgresConfig::new(home.path()) };
    let mut server = in_time(PostgresServer::start(config, &quiet)).await.expect("start");
    server.kill();
    let mut other = as_user_of_postgres("sleep").arg("60").spawn().expect("sleep");
    let lock = home.path().join("data/postmaster.pid");
    let text = fs::read_to_string(&lock).expect("a stale lock");
    let (_, rest) = text.split_once('\n').expect("lines");
    fs::write(&lock, format!("{}\n{rest}", other.id())).expect("written");
    let restarted = in_time(server.restart()).await;
    other.kill().and_then(|()| other.wait()).expect("ended");
    restarted.expect("restart");
}

fn as_user_of_postgres(program: &str) -> Command {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(program);
    if rustix::process::geteuid().is_root() {
        command.uid(65534).gid(65534);
    }
    command
}
