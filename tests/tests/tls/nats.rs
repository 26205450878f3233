//! TLS settings of NATS connections.

use devstack::NatsServer;
use event_log::{Record, RecordConfig, RecordError};

use tests::authority::{Authority, ca_parameters, client_parameters};

const INSECURE: &str = "the TLS connection to the servers failed";

async fn check(server: &NatsServer, (scheme, query): (&str, &str), expected: Result<(), &str>) {
    let url = server.url().replace("nats://", &format!("{scheme}://")) + query;
    let config = RecordConfig { partitions: 1, monitor_url: Some(server.monitor_url()), ..RecordConfig::new(url) };
    let outcome = Record::create(config).await.map(|_| ());
    match expected {
        Ok(()) => outcome.unwrap_or_else(|error| panic!("{scheme}{query}: {error}")),
        Err(part) => {
            let error = outcome.expect_err(query).to_string();
            assert!(error.contains(part), "{scheme}{query}: {error}");
        }
    }
}

/// A server with a certificate that requests client certificates.
async fn tls_server(authority: &Authority) -> NatsServer {
    devstack::test::nats_with(|config| config.extra = authority.nats_lines()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn mutual_trust() {
    let (authority, other) = (Authority::new("ours"), Authority::new("theirs"));
    let server = tls_server(&authority).await;
    let role = authority.sign("role");
    let files = client_parameters(&authority.ca(), &role);
    check(&server, ("tls", &files), Ok(())).await;
    check(&server, ("nats", &files), Ok(())).await;
    let without = ca_parameters(&authority.ca());
    check(&server, ("tls", &without), Err(INSECURE)).await;
    let foreign = client_parameters(&other.ca(), &role);
    check(&server, ("tls", &foreign), Err(INSECURE)).await;
    let stranger = client_parameters(&authority.ca(), &other.sign("role"));
    check(&server, ("tls", &stranger), Err(INSECURE)).await;
    // It requires TLS, and the system does not trust its certificate.
    check(&server, ("nats", ""), Err(INSECURE)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tls() {
    let authority = Authority::new("ours");
    let server = devstack::test::nats().await;
    let files = ca_parameters(&authority.ca());
    check(&server, ("tls", &files), Err(INSECURE)).await;
    check(&server, ("nats", &files), Err(INSECURE)).await;
    check(&server, ("nats", ""), Ok(())).await;
}

#[test]
fn files_are_validated_first() {
    let config = RecordConfig::new("tls://127.0.0.1:4222?ca=/nowhere");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let error = runtime.block_on(Record::open(config)).unwrap_err();
    let expected = "nats_url names /nowhere, which cannot be read: entity not found";
    assert!(matches!(error, RecordError::Configuration { .. }));
    assert_eq!(error.to_string(), expected);
}
