//! Nothing outlives the process that started it, however that ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use devstack::{NatsServer, PostgresServer, StackConfig, quiet};

use crate::probe::{await_that, folder, in_time, kill_hard, runs};
use crate::reruns::{FOLDER_VARIABLE, folder_given, rerun};

/// What the parent tells: process ids of servers, and folders that must go.
struct Told {
    pids: Vec<u32>,
    folders: Vec<PathBuf>,
}

fn start_parent(role: &str, folder: &Path) -> (Child, Told) {
    let parent = rerun(role)
        .env(FOLDER_VARIABLE, folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("parent");
    let told = folder.join("told");
    await_that("servers of the parent", || told.exists());
    let text = fs::read_to_string(told).expect("told");
    let (pids, folders): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.parse::<u32>().is_ok());
    let pids = pids
        .iter()
        .map(|line| line.parse().expect("a process id"))
        .collect();
    (
        parent,
        Told {
            pids,
            folders: folders.iter().map(PathBuf::from).collect(),
        },
    )
}

fn tell(folder: &Path, lines: &[String]) {
    fs::write(folder.join("telling"), lines.join("\n")).expect("written");
    fs::rename(folder.join("telling"), folder.join("told")).expect("told");
}

fn wait_for_death() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("stdin");
}

fn socket_folder(url: &str) -> String {
    url.split_once("?host=").expect("a socket").1.to_owned()
}

/// Not a test by itself: the parent that gets killed, with a stack on a folder that stays.
#[tokio::test]
async fn parent_of_a_stack() {
    let Some(folder) = folder_given() else { return };
    let config = StackConfig::new(folder.join("data"));
    let stack = devstack::start(config, &quiet).await.expect("stack");
    let pids = [
        stack.nats().and_then(NatsServer::pid),
        stack.postgres().and_then(PostgresServer::pid),
    ];
    let mut lines: Vec<String> = pids.iter().flatten().map(u32::to_string).collect();
    lines.push(socket_folder(&stack.database_url()));
    tell(&folder, &lines);
    wait_for_death();
}

/// Not a test by itself: the parent that ends, with servers for tests.
#[tokio::test]
async fn parent_of_test_servers() {
    let Some(folder) = folder_given() else { return };
    let nats = devstack::test::nats().await;
    let postgres = devstack::test::postgres().await;
    let shared = devstack::test::database().await;
    let pids = [nats.pid(), postgres.pid()];
    let mut lines: Vec<String> = pids.iter().flatten().map(u32::to_string).collect();
    let folders = [nats.folder(), postgres.folder()];
    lines.extend(folders.iter().map(|folder| folder.display().to_string()));
    lines.push(socket_folder(&postgres.database_url("postgres")));
    lines.push(socket_folder(&shared.url));
    tell(&folder, &lines);
    wait_for_death();
}

#[test]
fn a_killed_parent_leaves_no_servers() {
    let home = folder();
    let (mut parent, told) = start_parent("orphans::parent_of_a_stack", home.path());
    assert_eq!(told.pids.len(), 2);
    assert!(told.pids.iter().all(|pid| runs(*pid)));
    parent.kill().and_then(|()| parent.wait()).expect("killed");
    await_that("the end of the servers", || {
        !told.pids.iter().any(|pid| runs(*pid))
    });
    await_that("the end of the socket", || {
        told.folders.iter().all(|path| !path.exists())
    });
}

#[tokio::test]
async fn a_start_right_after_a_kill_recovers() {
    let home = folder();
    for _ in 0..3 {
        let _gone = fs::remove_file(home.path().join("told"));
        let (mut parent, _) = start_parent("orphans::parent_of_a_stack", home.path());
        parent.kill().and_then(|()| parent.wait()).expect("killed");
        let config = StackConfig::new(home.path().join("data"));
        let stack = in_time(devstack::start(config, &quiet))
            .await
            .expect("recovered");
        in_time(stack.stop()).await;
    }
}

#[tokio::test]
async fn servers_whose_watchdogs_died_too_are_stopped_by_the_next_start() {
    let home = folder();
    let (mut parent, told) = start_parent("orphans::parent_of_a_stack", home.path());
    watchdogs_of(parent.id()).into_iter().for_each(kill_hard);
    parent.kill().and_then(|()| parent.wait()).expect("killed");
    assert!(told.pids.iter().all(|pid| runs(*pid)));
    let config = StackConfig::new(home.path().join("data"));
    let stack = in_time(devstack::start(config, &quiet))
        .await
        .expect("recovered");
    assert!(!told.pids.iter().any(|pid| runs(*pid)));
    in_time(stack.stop()).await;
    told.folders
        .iter()
        .for_each(|folder| fs::remove_dir_all(folder).expect("removed"));
}

fn watchdogs_of(parent: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("Linux").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let text =
            |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        text("cmdline").contains("hansard-watchdog")
            && text("status").contains(&format!("PPid:\t{parent}\n"))
    })
    .collect()
}

#[track_caller]
fn check_test_servers(end: impl Fn(&mut Child)) {
    let home = folder();
    let (mut parent, told) = start_parent("orphans::parent_of_test_servers", home.path());
    assert_eq!((told.pids.len(), told.folders.len()), (2, 4));
    end(&mut parent);
    await_that("the end of the servers", || {
        !told.pids.iter().any(|pid| runs(*pid))
    });
    await_that("the end of the folders", || {
        told.folders.iter().all(|path| !path.exists())
    });
}

#[test]
fn test_servers_go_with_their_process() {
    check_test_servers(|parent| {
        parent.kill().and_then(|()| parent.wait()).expect("killed");
    });
    check_test_servers(|parent| {
        drop(parent.stdin.take());
        assert!(parent.wait().expect("ended").success());
    });
}
