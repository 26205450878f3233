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

#[tokio::test]
async fn invalid_settings_are_reported() {
    let file = files::path("gateway.toml");
    let file = file.to_str().expect("a plain name");
    let broken = "record.api_prefix=RECORD.*";
    let ended = program!().run(["gateway", "--config", file, "--check", "--set", broken], &[]).await;
    assert_ne!(ended.code, Some(0));
    assert!(ended.stderr.contains("api_prefix"), "{}", ended.stderr);
}
