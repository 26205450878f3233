//! Invalid settings: all errors at once, each with its key and source, and nothing starts.

use tests::program;

/// Runs a role with these arguments and variables; returns its exit code and standard error.
async fn run(arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let variables: Vec<(String, String)> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let ended = program!().run(arguments, &variables).await;
    assert_eq!(ended.stdout, "");
    (ended.code, ended.stderr)
}

#[tokio::test(flavor = "multi_thread")]
async fn all_errors_of_file_variables_and_flags_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("writer.toml");
    std::fs::write(&file, "heads_cached_max = 0\n[grpc]\ncalls_maximum = 7\n").unwrap();
    let (code, stderr) = run(
        &["writer", "--config", file.to_str().unwrap(), "--set", "record.partitions=0"],
        &[
            ("HANSARD_GRPC__DRAIN_MS", "soon"),
            ("HANSARD_TELEMETRY__LOG_FILTER", "a=b=c"),
            ("HANSARD_RECORD__NATS_URL", ""),
        ],
    )
    .await;
    assert_eq!(code, Some(2), "{stderr}");
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
        assert!(stderr.contains(part), "no {part} in {stderr}");
    }
    assert!(!stderr.contains("soon"), "a value of the wrong type is shown: {stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_can_be_checked_without_a_start() {
    for role in ["writer", "projector", "gateway"] {
        let url = ("HANSARD_READ_MODEL__DATABASE_URL", "postgres://hansard@127.0.0.1:1/none");
        let (code, stderr) = run(&[role, "--check"], &[url]).await;
        assert_eq!(code, Some(0), "{role}: {stderr}");
        let (code, stderr) = run(&[role, "--check", "--set", "nonsense=1"], &[url]).await;
        assert_eq!(code, Some(2), "{role}: {stderr}");
        assert!(stderr.contains("nonsense"), "{role}: {stderr}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_files_and_servers_are_reported_in_one_line() {
    let (code, stderr) = run(&["gateway", "--config", "/no/such/file.toml"], &[]).await;
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("/no/such/file.toml"), "{stderr}");
    let nobody = format!("nats://{}", tests::port::free());
    let variables = [
        ("HANSARD_RECORD__NATS_URL", nobody.as_str()),
        ("HANSARD_RECORD__REQUEST_TIMEOUT_MS", "500"),
        ("HANSARD_GRPC__ADDR", "127.0.0.1:0"),
        ("HANSARD_ADMIN_ADDR", "127.0.0.1:0"),
        ("HANSARD_READ_MODEL__DATABASE_URL", "postgres://hansard@127.0.0.1:1/none"),
        ("HANSARD_TELEMETRY__LOG_FILTER", "off"),
    ];
    let (code, stderr) = run(&["writer"], &variables).await;
    assert_eq!(code, Some(1), "{stderr}");
    assert_eq!(stderr.trim_end().lines().count(), 1, "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_arguments_print_the_usage() {
    let wrong: [&[&str]; 4] = [&["nonsense"], &["import"], &["writer", "--set", "x"], &[]];
    for arguments in wrong {
        let (code, stderr) = run(arguments, &[]).await;
        assert_eq!(code, Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains("Usage:") || stderr.contains("--help"), "{arguments:?}: {stderr}");
    }
}
