//! Validates the configuration of nats-server with the program itself.

use std::process::Output;

use devstack::test::nats_program;
use tokio::process::Command;

use tests::deploy_files as files;

const VARIABLES: [(&str, &str); 5] = [
    ("NATS_SERVER_NAME", "nats-0"),
    ("NATS_OPERATOR_PASSWORD", "o1"),
    ("NATS_WRITER_PASSWORD", "w1"),
    ("NATS_PROJECTOR_PASSWORD", "p1"),
    ("NATS_GATEWAY_PASSWORD", "g1"),
];

async fn validate(file: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(nats_program().await);
    command.arg("-t").arg("-c").arg(files::path(file));
    command.envs(variables.iter().copied());
    command.output().await.expect("a nats-server")
}

#[tokio::test]
async fn the_files_are_valid() {
    for file in ["nats/nats-server.conf", "nats/cluster.conf"] {
        let output = validate(file, &VARIABLES).await;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{file}: {stderr}");
    }
}

#[tokio::test]
async fn no_server_starts_without_a_password() {
    for (missing, _) in VARIABLES.iter().skip(1) {
        let mut others = VARIABLES.to_vec();
        others.retain(|(name, _)| name != missing);
        let output = validate("nats/nats-server.conf", &others).await;
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
