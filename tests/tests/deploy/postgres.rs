//! The settings of Postgres and the roles for managed servers, judged by Postgres itself.

use std::process::{Command, Output};

use devstack::PostgresServer;

use tests::deploy_files as files;

fn run(command: &mut Command) -> Output {
    command.output().expect("a program of Postgres")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_settings_are_taken() {
    let server = devstack::test::postgres().await;
    let file = files::path("postgres/postgresql.conf");
    let file = file.canonicalize().expect("the settings");
    let folder = tempfile::tempdir().expect("a folder");
    let asked = |setting: &str| {
        let mut command = Command::new(server.tool("postgres"));
        // `-C` reads the whole file, refuses it for one mistake, and starts nothing.
        command.args(["-C", setting, "-D"]).arg(folder.path());
        command.arg("-c");
        command.arg(format!("config_file={}", file.display()));
        run(&mut command)
    };
    for (setting, expected) in [
        ("max_connections", "200"),
        ("synchronous_commit", "on"),
        ("log_parameter_max_length", "0"),
        ("log_min_error_statement", "panic"),
    ] {
        let output = asked(setting);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{setting}: {said}");
        let value = String::from_utf8_lossy(&output.stdout);
        assert_eq!(value.trim(), expected, "{setting}");
    }
}

fn psql(server: &PostgresServer, database: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(server.tool("psql"));
    command.args(["--no-psqlrc", "-v", "ON_ERROR_STOP=1", "-d"]);
    command.arg(server.database_url(database)).args(arguments);
    let output = run(&mut command);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_roles_of_a_managed_server() {
    let server = devstack::test::postgres().await;
    server.create_database("hansard").await.expect("a database");
    let file = files::path("postgres/roles.sql");
    let file = file.to_str().expect("a plain name");
    for _ in 0..2 {
        psql(&server, "hansard", &["-f", file]);
    }
    let rights = "SELECT pg_has_role('hansard', 'hansard_reader', 'SET'),
        has_database_privilege('hansard', 'hansard', 'CREATE'),
        (SELECT rolsuper OR rolcreaterole OR rolbypassrls FROM pg_roles WHERE rolname = 'hansard_reader')";
    assert_eq!(psql(&server, "hansard", &["-At", "-c", rights]), "t|t|f");
}
