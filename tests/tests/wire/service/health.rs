//! `grpc.health.v1` and `/readyz` show outages of NATS and Postgres, and their end.

use futures::StreamExt as _;
use tests::admin;
use tests::client::health;
use tests::eventually::{eventually, within};
use tests::node::Node;
use tests::stack::Setup;
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;

async fn status(url: &str, service: &str) -> Result<ServingStatus, Status> {
    let request = HealthCheckRequest { service: service.to_owned() };
    Ok(health(url).check(request).await?.into_inner().status())
}

/// Waits for a status of the whole process, over gRPC and HTTP.
async fn wait_for_status(node: &Node, expected: ServingStatus) {
    let (url, addr) = (node.grpc_url(), node.admin_addr());
    eventually(&format!("{expected:?} at {url}"), || async {
        let seen = status(&url, "").await.ok()?;
        (seen == expected).then_some(())
    })
    .await;
    let is_ready = expected == ServingStatus::Serving;
    eventually("/readyz", || async { (admin::is_ready(addr).await == is_ready).then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_the_services_have_a_health() {
    let stack = Setup::tasks().start().await;
    let (writer, gateway) = (stack.writer.grpc_url(), stack.gateway.grpc_url());
    for (url, service) in [
        (&writer, ""),
        (&writer, "hansard.write.v1.WriteService"),
        (&writer, "hansard.operate.v1.RegistryService"),
        (&gateway, ""),
        (&gateway, "hansard.read.v1.ReadService"),
        (&gateway, "hansard.history.v1.HistoryService"),
        (&gateway, "hansard.operate.v1.AuditService"),
        (&gateway, "hansard.write.v1.WriteService"),
        (&gateway, "hansard.document.v1.DocumentService"),
    ] {
        assert_eq!(status(url, service).await.expect(service), ServingStatus::Serving, "{service}");
    }
    for (url, service) in [(&writer, "hansard.read.v1.ReadService"), (&gateway, "hansard.run.v1.RunService")] {
        assert_eq!(status(url, service).await.expect_err(service).code(), Code::NotFound);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nats_outage_and_recovery() {
    let mut stack = Setup::tasks().start().await;
    stack.servers.nats_mut().kill();
    for node in [&stack.writer, &stack.gateway] {
        wait_for_status(node, ServingStatus::NotServing).await;
    }
    let page = admin::get(stack.writer.admin_addr(), "/readyz").await.expect("a page");
    assert!(page.body.contains("nats"), "{}", page.body);
    let projector = stack.projector.admin_addr();
    eventually("a projector that is not ready", || async { (!admin::is_ready(projector).await).then_some(()) }).await;
    assert_eq!(admin::get(projector, "/livez").await.expect("a page").status, 200);
    stack.servers.nats_mut().restart().await.expect("nats-server");
    for node in [&stack.writer, &stack.gateway] {
        wait_for_status(node, ServingStatus::Serving).await;
    }
    stack.projector.ready().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_outage_and_recovery() {
    let mut stack = Setup::tasks().with_own_postgres().start().await;
    stack.servers.postgres_mut().kill();
    wait_for_status(&stack.gateway, ServingStatus::NotServing).await;
    // Appends need no Postgres, so the writer stays healthy.
    assert_eq!(status(&stack.writer.grpc_url(), "").await.expect("health"), ServingStatus::Serving);
    let projector = stack.projector.admin_addr();
    eventually("a projector that is not ready", || async { (!admin::is_ready(projector).await).then_some(()) }).await;
    stack.servers.postgres_mut().restart().await.expect("Postgres");
    wait_for_status(&stack.gateway, ServingStatus::Serving).await;
    stack.projector.ready().await;
}

/// A watch of the health gets each change.
#[tokio::test(flavor = "multi_thread")]
async fn watches_report_outage_and_recovery() {
    let mut stack = Setup::tasks().start().await;
    let request = HealthCheckRequest { service: "hansard.read.v1.ReadService".to_owned() };
    let mut watch = health(&stack.gateway.grpc_url()).watch(request).await.expect("a watch").into_inner();
    let mut next = async || {
        let change = within("a change of the health", watch.next()).await.expect("no end");
        change.expect("no failure").status()
    };
    assert_eq!(next().await, ServingStatus::Serving);
    stack.servers.nats_mut().pause();
    assert_eq!(next().await, ServingStatus::NotServing);
    stack.servers.nats_mut().resume();
    assert_eq!(next().await, ServingStatus::Serving);
}
