//! TLS settings of Postgres connections.

use std::net::SocketAddr;

use devstack::PostgresServer;
use read_model::{ReadModel, ReadModelConfig};

use tests::authority::Authority;
use tests::terminator;

const DATABASE: &str = "hansard";

/// The error for a certificate of an untrusted CA.
const UNKNOWN: &str = "no secure connection: invalid peer certificate: UnknownIssuer";

async fn server() -> (PostgresServer, SocketAddr) {
    let server = devstack::test::postgres().await;
    server.create_database(DATABASE).await.unwrap();
    let addr = SocketAddr::from(([127, 0, 0, 1], server.port()));
    (server, addr)
}

async fn connect(addr: SocketAddr, query: &str) -> Result<(), String> {
    let url = format!("postgres://hansard@{addr}/{DATABASE}?{query}");
    let model = ReadModel::connect_lazy(&ReadModelConfig::new(url));
    model.map_err(|error| error.to_string())?.migrate().await.map_err(|error| error.to_string())
}

async fn check(addr: SocketAddr, query: &str, expected: Result<(), &str>) {
    let outcome = connect(addr, query).await;
    match expected {
        Ok(()) => assert_eq!(outcome, Ok(()), "{query}"),
        Err(part) => {
            let error = outcome.expect_err(query);
            assert!(error.contains(part), "{query}: {error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_tls() {
    let (authority, other) = (Authority::new("ours"), Authority::new("theirs"));
    let (_server, plain) = server().await;
    let addr = terminator::before(plain, &authority.sign("postgres")).await;
    let ca_parameters = |authority: &Authority| {
        let ca = authority.ca();
        format!("sslmode=verify-full&sslrootcert={}", ca.display())
    };
    check(addr, &ca_parameters(&authority), Ok(())).await;
    check(addr, "sslmode=require", Ok(())).await;
    check(addr, "", Ok(())).await;
    check(addr, &ca_parameters(&other), Err(UNKNOWN)).await;
    check(addr, "sslmode=verify-full", Err(UNKNOWN)).await;
    check(addr, "sslmode=disable", Err("no connection")).await;
    let missing_file = "sslmode=verify-full&sslrootcert=/nowhere";
    let missing = "names /nowhere as sslrootcert, which cannot be read";
    check(addr, missing_file, Err(missing)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tls() {
    let (_server, addr) = server().await;
    check(addr, "", Ok(())).await;
    let refused = "no secure connection: server does not support TLS";
    for query in ["sslmode=require", "sslmode=verify-full"] {
        check(addr, query, Err(refused)).await;
    }
}
