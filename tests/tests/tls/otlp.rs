//! Traces are exported over TLS, only to a collector with a certificate of a trusted CA.

use tests::authority::Authority;
use tests::collector::Collector;
use tests::program;
use tests::stack::Setup;

#[tokio::test(flavor = "multi_thread")]
async fn traces_reach_a_collector_over_tls() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let identity = ours.sign("collector");
    let trusted = Collector::start_over_tls(&identity.cert, &identity.key).await;
    let other = Collector::start_over_tls(&identity.cert, &identity.key).await;
    let mut stack = Setup::processes(program!()).prepare().await;
    for (node, collector, authority) in [(&mut stack.writer, &trusted, &ours), (&mut stack.gateway, &other, &theirs)] {
        let endpoint = format!("{}?ca={}", collector.endpoint(), authority.ca().display());
        let variable = "HANSARD_TELEMETRY__OTLP_ENDPOINT".to_owned();
        node.settings.variables.push((variable, endpoint));
    }
    stack.start().await;
    let agent = stack.agent("acme", "support").await;
    agent.create("c").await;
    trusted.span("the writer's call", |span| span.name.ends_with("WriteService.CreateConversation")).await;
    agent.context("c", 1).await;
    stack.gateway.stop().await;
    assert_eq!(other.count(), 0);
}
