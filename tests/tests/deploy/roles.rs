//! Validates the roles' settings with the program itself.

use tests::program;

use tests::deploy_files as files;

#[tokio::test]
async fn every_role_accepts_its_file() {
    for role in ["writer", "projector", "gateway"] {
        let file = files::path(&format!("{role}.toml"));
        let file = file.to_str().expect("a plain name");
        let ended = program!().run([role, "--config", file, "--check"], &[]).await;
        assert_eq!(ended.code, Some(0), "{role}: {}", ended.stderr);
    }
}

/// The variables that Kubernetes adds for two services, and one that it does not add.
#[tokio::test]
async fn service_links_of_kubernetes_are_ignored() {
    let mut variables = Vec::new();
    for service in ["HANSARD", "HANSARD_GATEWAY"] {
        for (name, value) in [
            ("SERVICE_HOST", "10.0.0.1"),
            ("SERVICE_PORT", "7302"),
            ("SERVICE_PORT_GRPC", "7302"),
            ("PORT", "tcp://10.0.0.1:7302"),
            ("PORT_7302_TCP", "tcp://10.0.0.1:7302"),
            ("PORT_7302_TCP_PROTO", "tcp"),
            ("PORT_7302_TCP_PORT", "7302"),
            ("PORT_7302_TCP_ADDR", "10.0.0.1"),
        ] {
            variables.push((format!("{service}_{name}"), value.to_owned()));
        }
    }
    for role in ["writer", "projector", "gateway"] {
        let ended = program!().run([role, "--check"], &variables).await;
        assert_eq!(ended.code, Some(0), "{role}: {}", ended.stderr);
    }
    variables.push(("HANSARD_ADMIN_PORT".to_owned(), "7312".to_owned()));
    let ended = program!().run(["gateway", "--check"], &variables).await;
    assert_ne!(ended.code, Some(0));
    let unknown = "`admin_port` (environment variable HANSARD_ADMIN_PORT) is not a setting";
    assert!(ended.stderr.contains(unknown) && ended.stderr.lines().count() == 1, "{}", ended.stderr);
}

#[tokio::test]
async fn invalid_settings_are_reported() {
    let file = files::path("gateway.toml");
    let file = file.to_str().expect("a plain name");
    let broken = "record.api_prefix=RECORD.*";
    let ended = program!().run(["gateway", "--config", file, "--check", "--set", broken], &[]).await;
    assert_ne!(ended.code, Some(0));
    assert!(ended.stderr.contains("api_prefix"), "{}", ended.stderr);
}
