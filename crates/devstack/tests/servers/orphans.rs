//! No server outlives the process that started it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use devstack::{NatsServer, PostgresServer, StackConfig, quiet};

use crate::probe::{await_that, folder, in_time, kill_hard, runs};
use crate::reruns::{FOLDER_VARIABLE, folder_given, rerun};

/// The report of a parent: process ids of its servers, and folders that must be removed.
struct Report {
    pids: Vec<u32>,
    folders: Vec<PathBuf>,
}

impl Report {
    fn await_end(&self) {
        await_that("the end of the servers", || !self.pids.iter().any(|pid| runs(*pid)));
        await_that("the removal of the folders", || self.folders.iter().all(|path| !path.exists()));
    }
}

fn start_parent(role: &str, folder: &Path) -> (Child, Report) {
    let parent =
        rerun(role).env(FOLDER_VARIABLE, folder).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("parent");
    let report = folder.join("report");
    await_that("servers of the parent", || report.exists());
    let text = fs::read_to_string(report).expect("report");
    let (pids, folders): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.parse::<u32>().is_ok());
    let pids = pids.iter().map(|line| line.parse().expect("a process id")).collect();
    (parent, Report { pids, folders: folders.iter().map(PathBuf::from).collect() })
}

fn write_report(folder: &Path, lines: &[String]) {
    fs::write(folder.join("partial"), lines.join("\n")).expect("written");
    fs::rename(folder.join("partial"), folder.join("report")).expect("renamed");
}

fn wait_for_end() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("stdin");
}

fn socket_folder(url: &str) -> String {
    url.split_once("?host=").expect("a socket").1.to_owned()
}

/// Not a test by itself: the parent that is killed, with a stack in a permanent folder.
#[tokio::test]
async fn parent_of_a_stack() {
    let Some(folder) = folder_given() else { return };
    let config = StackConfig::new(folder.join("data"));
    let stack = devstack::start(config, &quiet).await.expect("stack");
    let pids = [stack.nats().and_then(NatsServer::pid), stack.postgres().and_then(PostgresServer::pid)];
    let mut lines: Vec<String> = pids.iter().flatten().map(u32::to_string).collect();
    lines.push(socket_folder(&stack.database_url()));
    write_report(&folder, &lines);
    wait_for_end();
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
    write_report(&folder, &lines);
    wait_for_end();
}

#[test]
fn a_killed_parent_leaves_no_servers() {
    let home = folder();
    let (mut parent, report) = start_parent("orphans::parent_of_a_stack", home.path());
    assert_eq!(report.pids.len(), 2);
    assert!(report.pids.iter().all(|pid| runs(*pid)));
    parent.kill().and_then(|()| parent.wait()).expect("killed");
    report.await_end();
}

#[tokio::test]
async fn a_start_right_after_a_kill_recovers() {
    let home = folder();
    for _ in 0..3 {
        let _removed = fs::remove_file(home.path().join("report"));
        let (mut parent, _) = start_parent("orphans::parent_of_a_stack", home.path());
        parent.kill().and_then(|()| parent.wait()).expect("killed");
        let config = StackConfig::new(home.path().join("data"));
        let stack = in_time(devstack::start(config, &quiet)).await.expect("recovered");
        in_time(stack.stop()).await;
    }
}

#[tokio::test]
async fn the_next_start_stops_servers_without_watchdogs() {
    let home = folder();
    let (mut parent, report) = start_parent("orphans::parent_of_a_stack", home.path());
    watchdogs_of(parent.id()).into_iter().for_each(kill_hard);
    parent.kill().and_then(|()| parent.wait()).expect("killed");
    assert!(report.pids.iter().all(|pid| runs(*pid)));
    let config = StackConfig::new(home.path().join("data"));
    let stack = in_time(devstack::start(config, &quiet)).await.expect("recovered");
    assert!(!report.pids.iter().any(|pid| runs(*pid)));
    in_time(stack.stop()).await;
    report.folders.iter().for_each(|folder| fs::remove_dir_all(folder).expect("removed"));
}

fn watchdogs_of(parent: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("Linux").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let text = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        text("cmdline").contains("hansard-watchdog") && text("status").contains(&format!("PPid:\t{parent}\n"))
    })
    .collect()
}

#[track_caller]
fn check_test_servers(end: impl Fn(&mut Child)) {
    let home = folder();
    let (mut parent, report) = start_parent("orphans::parent_of_test_servers", home.path());
    assert_eq!((report.pids.len(), report.folders.len()), (2, 4));
    end(&mut parent);
    report.await_end();
}

#[test]
fn test_servers_end_with_their_process() {
    check_test_servers(|parent| {
        parent.kill().and_then(|()| parent.wait()).expect("killed");
    });
    check_test_servers(|parent| {
        drop(parent.stdin.take());
        assert!(parent.wait().expect("ended").success());
    });
}
