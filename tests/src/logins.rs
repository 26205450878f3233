//! The logins of `deploy/postgres/roles.sql` in the Postgres of a test.

use std::process::Command;

use crate::deploy_files;
use crate::node::Node;
use crate::program::Program;
use crate::stack::Stack;

/// The URL of a database with another login.
///
/// # Panics
/// When the URL has no user.
#[must_use]
pub fn url(database_url: &str, login: &str) -> String {
    let (_, rest) = database_url.split_once('@').expect("a URL with a user");
    format!("postgres://{login}@{rest}")
}

/// Creates the logins twice, as administrators may, and migrates with the login of migrations.
///
/// # Panics
/// When Postgres fails, or the stack has no own Postgres.
pub async fn prepare(stack: &mut Stack, program: &Program) {
    let administrator = stack.servers.database_url().to_owned();
    let file = deploy_files::path("postgres/roles.sql");
    for _ in 0..2 {
        let mut psql = Command::new(stack.servers.postgres_mut().tool("psql"));
        psql.args(["--no-psqlrc", "-v", "ON_ERROR_STOP=1", "-d"]);
        let output = psql.arg(&administrator).arg("-f").arg(&file).output().expect("psql");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{errors}");
    }
    let migrator = url(&administrator, "hansard_migrator");
    let ended = program.run(["migrate", "--database-url", &migrator], &[]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for node in [&mut stack.writer, &mut stack.projector, &mut stack.gateway] {
        log_in(node, &administrator);
    }
}

/// Sets the logins of the roles of a node; `administrator` is the URL of another login.
pub fn log_in(node: &mut Node, administrator: &str) {
    let settings = &mut *node.settings;
    settings.writer.read_model.database_url = url(administrator, "hansard_writer");
    settings.projector.read_model.database_url = url(administrator, "hansard_projector");
    settings.projector.migrates = false;
    settings.gateway.read_model.primary.database_url = url(administrator, "hansard_gateway");
}
