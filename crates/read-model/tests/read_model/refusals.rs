//! What Postgres refuses, and the errors of it.

use futures::future::join_all;
use read_model::schema_status;

use crate::logins::Logins;

const DATABASE: &str = "rows";

/// A server with a migrated database.
async fn migrated() -> Logins {
    let logins = Logins::new().await;
    logins.server.create_database(DATABASE).await.unwrap();
    logins.model("hansard", DATABASE).migrate().await.unwrap();
    logins
}

#[tokio::test]
async fn errors_name_the_login_and_the_database() {
    let mut logins = migrated().await;
    logins.run("CREATE ROLE stranger LOGIN").await;
    logins.run(&format!("REVOKE CONNECT ON DATABASE {DATABASE} FROM PUBLIC")).await;
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
        let error = logins.model(login, database).check().await.unwrap_err();
        assert!(error.is_unavailable() && error.to_string().ends_with(expected), "{login} {database}: {error}");
    }
}

#[tokio::test]
async fn a_projector_notices_a_read_only_database() {
    let mut logins = migrated().await;
    let is_read_only = async |logins: &Logins| {
        let model = logins.model("hansard", DATABASE);
        let refused = model.check_writable().await.err().map(|error| error.to_string());
        let refused = refused.inspect(|error| assert!(error.contains("Postgres is read-only"), "{error}"));
        (refused.is_some(), schema_status(&model).await.unwrap().is_read_only)
    };
    assert_eq!(is_read_only(&logins).await, (false, false));
    // Other logins may write.
    logins.run("ALTER ROLE hansard SET default_transaction_read_only = on").await;
    assert_eq!(is_read_only(&logins).await, (true, false));
    logins.run("ALTER ROLE hansard RESET default_transaction_read_only").await;
    logins.run(&format!("ALTER DATABASE {DATABASE} SET default_transaction_read_only = on")).await;
    assert_eq!(is_read_only(&logins).await, (true, true));
    let error = logins.model("hansard", DATABASE).migrate().await.unwrap_err();
    assert!(error.is_unavailable() && error.to_string().contains("the database is read-only"), "{error}");
}

#[tokio::test]
async fn a_server_without_room_for_connections_delays_work() {
    let mut logins = migrated().await;
    logins.run("CREATE ROLE narrow LOGIN CONNECTION LIMIT 1").await;
    let model = logins.model("narrow", DATABASE);
    let all = join_all((0..8).map(|_| model.live_schema())).await;
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    let other = logins.model("narrow", DATABASE).live_schema().await.unwrap_err().to_string();
    assert!(other.contains("has no room for another connection of narrow to rows"), "{other}");
}
