//! Settings that are wrong: every mistake at once, with its key and its source, and nothing is started.

use tests::program;

/// Runs a role with these arguments and variables; gives its exit code and what it says.
async fn run(arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let variables: Vec<(String, String)> = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let ended = program!().run(arguments, &variables).await;
    assert_eq!(ended.stdout, "");
    (ended.code, ended.stderr)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_mistake_of_file_variables_and_flags_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("writer.toml");
    std::fs::write(&file, "heads_cached_max = 0\n[grpc]\ncalls_maximum = 7\n").unwrap();
    let (code, said) = run(
        &[
            "writer",
            "--config",
            file.to_str().unwrap(),
            "--set",
            "record.partitions=0",
        ],
        &[
            ("HANSARD_GRPC__DRAIN_MS", "soon"),
            ("HANSARD_TELEMETRY__LOG_FILTER", "a=b=c"),
            ("HANSARD_RECORD__NATS_URL", ""),
        ],
    )
    .await;
    assert_eq!(code, Some(2), "{said}");
    for part in [
        "heads_cached_max",
        "writer.toml",
        "grpc.calls_maximum",
        "calls_max",
        "grpc.drain_ms",
        "HANSARD_GRPC__DRAIN_MS",
        "record.partitions",
        "record.nats_url",
        "telemetry.log_filter",
    ] {
        assert!(said.contains(part), "no {part} in {said}");
    }
    assert!(
        !said.contains("soon"),
        "a value of the wrong type is shown: {said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_can_be_checked_without_a_start() {
    for role in ["writer", "projector", "gateway"] {
        let url = (
            "HANSARD_READ_MODEL__DATABASE_URL",
            "postgres://hansard@127.0.0.1:1/none",
        );
        let (code, said) = run(&[role, "--check"], &[url]).await;
        assert_eq!(code, Some(0), "{role}: {said}");
        let (code, said) = run(&[role, "--check", "--set", "nonsense=1"], &[url]).await;
        assert_eq!(code, Some(2), "{role}: {said}");
        assert!(said.contains("nonsense"), "{role}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_file_and_a_missing_server_are_told_in_a_line() {
    let (code, said) = run(&["gateway", "--config", "/no/such/file.toml"], &[]).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("/no/such/file.toml"), "{said}");
    let nobody = format!("nats://{}", tests::port::free());
    let variables = [
        ("HANSARD_RECORD__NATS_URL", nobody.as_str()),
        ("HANSARD_RECORD__REQUEST_TIMEOUT_MS", "500"),
        ("HANSARD_GRPC__ADDR", "127.0.0.1:0"),
        ("HANSARD_ADMIN_ADDR", "127.0.0.1:0"),
        (
            "HANSARD_READ_MODEL__DATABASE_URL",
            "postgres://hansard@127.0.0.1:1/none",
        ),
        ("HANSARD_TELEMETRY__LOG_FILTER", "off"),
    ];
    let (code, said) = run(&["writer"], &variables).await;
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_arguments_say_how_they_should_be() {
    let wrong: [&[&str]; 4] = [&["nonsense"], &["import"], &["writer", "--set", "x"], &[]];
    for arguments in wrong {
        let (code, said) = run(arguments, &[]).await;
        assert_eq!(code, Some(2), "{arguments:?}: {said}");
        assert!(
            said.contains("Usage:") || said.contains("--help"),
            "{arguments:?}: {said}"
        );
    }
}
