//! Validates the configuration of nats-server with the program itself.

use std::fs;
use std::path::Path;
use std::process::Output;

use devstack::test::nats_program;
use tempfile::TempDir;
use tests::authority::{Authority, Identity};
use tokio::process::Command;

use tests::deploy_files as files;

const VARIABLES: [(&str, &str); 5] = [
    ("NATS_SERVER_NAME", "nats-0"),
    ("NATS_OPERATOR_PASSWORD", "o1"),
    ("NATS_WRITER_PASSWORD", "w1"),
    ("NATS_PROJECTOR_PASSWORD", "p1"),
    ("NATS_GATEWAY_PASSWORD", "g1"),
];

async fn validate(file: &Path, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(nats_program().await);
    command.arg("-t").arg("-c").arg(file);
    command.envs(variables.iter().copied());
    command.output().await.expect("a nats-server")
}

/// A copy of the configuration whose certificates are in this folder, too.
fn with_certificates() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name);
    for entry in fs::read_dir(files::path("nats")).expect("a folder") {
        let entry = entry.expect("an entry");
        let text = fs::read_to_string(entry.path())
            .expect("a file")
            .replace("\"/tls/", &format!("\"{}/", folder.path().display()));
        fs::write(folder.path().join(entry.file_name()), text).expect("a file");
    }
    let authority = Authority::new("ours");
    fs::copy(authority.ca(), place("ca.crt")).expect("a CA");
    let (cert, key) = (place("tls.crt"), place("tls.key"));
    authority.sign_into("nats", &Identity { cert, key });
    folder
}

#[tokio::test]
async fn the_files_are_valid() {
    let folder = with_certificates();
    for file in ["nats-server.conf", "nats-server-tls.conf", "cluster.conf"] {
        let output = validate(&folder.path().join(file), &VARIABLES).await;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{file}: {stderr}");
    }
}

#[tokio::test]
async fn no_server_starts_without_its_certificate() {
    let folder = with_certificates();
    fs::remove_file(folder.path().join("tls.key")).expect("a key");
    for file in ["nats-server-tls.conf", "cluster.conf"] {
        let output = validate(&folder.path().join(file), &VARIABLES).await;
        assert!(!output.status.success(), "{file}");
    }
}

#[tokio::test]
async fn no_server_starts_without_a_password() {
    for (missing, _) in VARIABLES.iter().skip(1) {
        let mut others = VARIABLES.to_vec();
        others.retain(|(name, _)| name != missing);
        let output = validate(&files::path("nats/nats-server.conf"), &others).await;
        assert!(!output.status.success(), "{missing}");
    }
}

#[test]
fn acknowledged_writes_are_synced() {
    let settings = files::text("nats/record.conf");
    let has = |line: &str| settings.lines().any(|found| found.trim() == line);
    assert!(has("sync_interval: always"));
    assert!(has("max_payload: 8MB"));
}
