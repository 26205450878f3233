//! Validates the settings of Postgres with Postgres itself.

use std::process::{Command, Output};

use tests::deploy_files as files;

fn run(command: &mut Command) -> Output {
    command.output().expect("a program of Postgres")
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_accepts_the_settings() {
    let server = devstack::test::postgres().await;
    let file = files::path("postgres/postgresql.conf").canonicalize().expect("the settings");
    let folder = tempfile::tempdir().expect("a folder");
    let asked = |setting: &str| {
        let mut command = Command::new(server.tool("postgres"));
        // `-C` reads the whole file, fails on an error, and starts nothing.
        command.args(["-C", setting, "-D"]).arg(folder.path());
        command.arg("-c");
        command.arg(format!("config_file={}", file.display()));
        run(&mut command)
    };
    for (setting, expected) in [
        ("max_connections", "400"),
        ("synchronous_commit", "on"),
        ("log_parameter_max_length", "0"),
        ("log_min_error_statement", "panic"),
    ] {
        let output = asked(setting);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{setting}: {stderr}");
        let value = String::from_utf8_lossy(&output.stdout);
        assert_eq!(value.trim(), expected, "{setting}");
    }
}
