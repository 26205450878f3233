//! What Postgres refuses, and what the errors say.

use devstack::PostgresServer;
use devstack::test::postgres;
use futures::future::join_all;
use read_model::{ReadModel, ReadModelConfig, schema_status};
use sqlx::{Connection as _, Executor as _, PgConnection};

const DATABASE: &str = "rows";

/// A server with a migrated database, and a connection of its administrator.
struct Scene {
    server: PostgresServer,
    administrator: PgConnection,
}

impl Scene {
    async fn new() -> Self {
        let server = postgres().await;
        server.create_database(DATABASE).await.unwrap();
        let administrator = PgConnection::connect(&server.database_url(DATABASE)).await.unwrap();
        let scene = Self { server, administrator };
        scene.model("hansard", DATABASE).migrate().await.unwrap();
        scene
    }

    fn url(&self, login: &str, database: &str) -> String {
        self.server.database_url(database).replacen("hansard@", &format!("{login}@"), 1)
    }

    fn model(&self, login: &str, database: &str) -> ReadModel {
        ReadModel::connect_lazy(&ReadModelConfig::new(self.url(login, database))).unwrap()
    }

    async fn run(&mut self, statement: &str) {
        let statement = sqlx::AssertSqlSafe(statement.to_owned());
        self.administrator.execute(statement).await.unwrap();
    }
}

#[tokio::test]
async fn errors_name_the_login_and_the_database() {
    let mut scene = Scene::new().await;
    scene.run("CREATE ROLE stranger LOGIN").await;
    scene.run(&format!("REVOKE CONNECT ON DATABASE {DATABASE} FROM PUBLIC")).await;
    for (login, database, expected) in [
        ("hansard", "missing", "has no database missing: create it, or correct the database URL (SQLSTATE 3D000)"),
        (
            "nobody",
            DATABASE,
            "rejects the login nobody: correct it or its password in the database URL (SQLSTATE 28000)",
        ),
        (
            "stranger",
            DATABASE,
            "does not let stranger connect to rows: GRANT CONNECT ON DATABASE rows TO stranger (SQLSTATE 42501)",
        ),
    ] {
        let error = scene.model(login, database).check().await.unwrap_err();
        assert!(error.is_unavailable() && error.to_string().ends_with(expected), "{login} {database}: {error}");
    }
}

#[tokio::test]
async fn a_projector_notices_a_read_only_database() {
    let mut scene = Scene::new().await;
    let is_read_only = async |scene: &Scene| {
        let model = scene.model("hansard", DATABASE);
        let refused = model.check_writable().await.err().map(|error| error.to_string());
        let refused = refused.inspect(|error| assert!(error.contains("Postgres is read-only"), "{error}"));
        (refused.is_some(), schema_status(&model).await.unwrap().is_read_only)
    };
    assert_eq!(is_read_only(&scene).await, (false, false));
    // Other logins may write.
    scene.run("ALTER ROLE hansard SET default_transaction_read_only = on").await;
    assert_eq!(is_read_only(&scene).await, (true, false));
    scene.run("ALTER ROLE hansard RESET default_transaction_read_only").await;
    scene.run(&format!("ALTER DATABASE {DATABASE} SET default_transaction_read_only = on")).await;
    assert_eq!(is_read_only(&scene).await, (true, true));
    let error = scene.model("hansard", DATABASE).migrate().await.unwrap_err();
    assert!(error.is_unavailable() && error.to_string().contains("the database is read-only"), "{error}");
}

#[tokio::test]
async fn a_server_without_room_for_connections_delays_work() {
    let mut scene = Scene::new().await;
    scene.run("CREATE ROLE narrow LOGIN CONNECTION LIMIT 1").await;
    let model = scene.model("narrow", DATABASE);
    let all = join_all((0..8).map(|_| model.live_schema())).await;
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    let other = scene.model("narrow", DATABASE).live_schema().await.unwrap_err().to_string();
    assert!(other.contains("has no room for another connection of narrow to rows"), "{other}");
}
