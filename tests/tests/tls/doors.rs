//! The roles' doors, and the gateway's way to the writer.

use std::net::Ipv4Addr;
use std::time::Instant;

use hansard::client::{Failure, Service};
use runtime::tls::HANDSHAKE_TIMEOUT;
use serde_json::json;
use tests::door::Door;
use tests::events::user;
use tests::eventually::within;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use wire::proto::operate::v1::ListTenantsRequest;

use super::system::System;
use tests::authority::{Authority, showing, trusting};

const INSECURE: &str = "the TLS connection to the service failed: ";

/// What a caller of the writer at a URL is told; `None`: an answer.
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
async fn who_is_trusted_talks_through_every_hop() {
    let system = System::start().await;
    let operator = system.operator().await;
    let agent = operator.agent("acme", "support").await;
    agent.create("c").await;
    agent.append("c", vec![user("hello")]).await;
    // The gateway's own rows and tail, over its door.
    assert_eq!(agent.version("c").await, 2);
    // The gateway calls the writer.
    let key = operator.api_key("support").await;
    let addr = system.stack.gateway.settings.gateway.http.server.addr;
    let door = Door::over_tls(addr, &system.authority.ca(), Ipv4Addr::LOCALHOST);
    let door = door.with("x-api-key", &key.secret).in_session().await;
    assert_eq!(door.post("/api/chats", &json!({})).await.status, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_not_trusted_is_refused() {
    let system = System::start().await;
    let other = Authority::new("theirs");
    let ca = system.authority.ca();
    let ours = system.files();
    let check = async |url: String, expected: &[&str]| {
        let told = refusal(&system, &url).await.expect("a refusal");
        assert!(
            expected.iter().any(|part| told.contains(part)),
            "{url}: {told}"
        );
    };
    let at = |query: &str| system.writer_url(query);
    assert_eq!(refusal(&system, &at(&ours)).await, None);
    let unknown = ["TLS connection to the service failed: invalid peer certificate: UnknownIssuer"];
    check(at(&showing(&other.ca(), &system.own)), &unknown).await;
    check(at(""), &unknown).await;
    // The connection may be gone before its last word is read.
    let closed = "if it requires a client certificate";
    check(at(&trusting(&ca)), &["CertificateRequired", closed]).await;
    let stranger = showing(&ca, &other.sign("caller"));
    check(at(&stranger), &["UnknownCA", "DecryptError", closed]).await;
    let plain = at("").replace("https://", "http://");
    check(plain, &["the service does not answer", closed]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_door_is_not_spoken_to() {
    let stack = tests::stack::Setup::tasks().start().await;
    let authority = Authority::new("ours");
    let url = stack.writer.grpc_url().replace("http://", "https://") + &trusting(&authority.ca());
    let service = Service::at(&url, "token").unwrap();
    let answer = service
        .registry()
        .list_tenants(ListTenantsRequest::default())
        .await;
    let told = Failure::from(answer.unwrap_err()).to_string();
    assert!(told.starts_with(INSECURE), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_says_nothing_is_waited_for_by_nobody_else_and_not_for_long() {
    let system = System::start().await;
    let addr = system.stack.writer.settings.writer.grpc.addr;
    let begun = Instant::now();
    let mut silent = TcpStream::connect(addr).await.unwrap();
    assert_eq!(
        refusal(&system, &system.writer_url(&system.files())).await,
        None
    );
    let ended = within("the end of the silent one", silent.read(&mut [0])).await;
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    let waited = begun.elapsed();
    assert!(
        (HANDSHAKE_TIMEOUT..HANDSHAKE_TIMEOUT * 2).contains(&waited),
        "{waited:?}"
    );
}
