//! The roles' listeners, and the gateway's connection to the writer.

use std::net::Ipv4Addr;
use std::time::Instant;

use hansard::client::{Failure, Service};
use runtime::tls::HANDSHAKE_TIMEOUT;
use serde_json::json;
use tests::events::user;
use tests::eventually::within;
use tests::http_client::HttpClient;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use wire::proto::operate::v1::ListTenantsRequest;

use super::system::System;
use tests::authority::{Authority, ca_parameters, client_parameters};

const INSECURE: &str = "the TLS connection to the service failed: ";

/// The error of a caller of the writer at a URL; `None` for success.
async fn refusal(system: &System, url: &str) -> Option<String> {
    let token = system.stack.token().await;
    let service = Service::at(url, token).map_err(|error| error.to_string());
    let service = match service {
        Ok(service) => service,
        Err(error) => return Some(error),
    };
    let asked = ListTenantsRequest::default();
    let answer = service.registry().list_tenants(asked).await;
    answer.err().map(|status| Failure::from(status).to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn trusted_callers_pass_every_hop() {
    let system = System::start().await;
    let operator = system.operator().await;
    let agent = operator.agent("acme", "support").await;
    agent.create("c").await;
    agent.append("c", vec![user("hello")]).await;
    // The gateway reads rows and tail, over its own listener.
    assert_eq!(agent.version("c").await, 2);
    // The gateway calls the writer.
    let key = operator.api_key("support").await;
    let addr = system.stack.gateway.settings.gateway.http.server.addr;
    let client = HttpClient::over_tls(addr, &system.authority.ca(), Ipv4Addr::LOCALHOST)
        .with("x-api-key", &key.secret)
        .in_session()
        .await;
    assert_eq!(client.post("/api/chats", &json!({})).await.status, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn untrusted_callers_are_rejected() {
    let system = System::start().await;
    let other = Authority::new("theirs");
    let ca = system.authority.ca();
    let ours = system.files();
    let check = async |url: String, expected: &[&str]| {
        let error = refusal(&system, &url).await.expect("a refusal");
        assert!(expected.iter().any(|part| error.contains(part)), "{url}: {error}");
    };
    let at = |query: &str| system.writer_url(query);
    assert_eq!(refusal(&system, &at(&ours)).await, None);
    let unknown = ["TLS connection to the service failed: invalid peer certificate: UnknownIssuer"];
    check(at(&client_parameters(&other.ca(), &system.own)), &unknown).await;
    check(at(""), &unknown).await;
    // The connection may close before its error is read.
    let closed = "if it requires a client certificate";
    check(at(&ca_parameters(&ca)), &["CertificateRequired", closed]).await;
    let stranger = client_parameters(&ca, &other.sign("caller"));
    check(at(&stranger), &["UnknownCA", "DecryptError", closed]).await;
    let plain = at("").replace("https://", "http://");
    check(plain, &["the service does not answer", closed]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_listeners_are_rejected() {
    let stack = tests::stack::Setup::tasks().start().await;
    let authority = Authority::new("ours");
    let url = stack.writer.grpc_url().replace("http://", "https://") + &ca_parameters(&authority.ca());
    let service = Service::at(&url, "token").unwrap();
    let answer = service.registry().list_tenants(ListTenantsRequest::default()).await;
    let error = Failure::from(answer.unwrap_err()).to_string();
    assert!(error.starts_with(INSECURE), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_time_out_and_block_nobody() {
    let system = System::start().await;
    let addr = system.stack.writer.settings.writer.grpc.addr;
    let begun = Instant::now();
    let mut silent = TcpStream::connect(addr).await.unwrap();
    assert_eq!(refusal(&system, &system.writer_url(&system.files())).await, None);
    let ended = within("the end of the silent one", silent.read(&mut [0])).await;
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    let waited = begun.elapsed();
    assert!((HANDSHAKE_TIMEOUT..HANDSHAKE_TIMEOUT * 2).contains(&waited), "{waited:?}");
}
