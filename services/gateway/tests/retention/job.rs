//! The job in a gateway: it runs rounds, reports metrics and ends with the gateway.

use std::time::Duration;

use gateway::GatewayConfig;
use gateway::retention::RetentionConfig;
use runtime::shutdown::Shutdown;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::callers::session;
use crate::stack::{START, Stack, eventually, rules};

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_runs_the_job() {
    let stack = Stack::start().await;
    stack.agent("strict", rules(0, 0, 60)).await;
    stack.agent("free", rules(0, 0, 0)).await;
    stack.create("strict", "old", session("s"), START).await;
    stack.create("free", "kept", session("s"), START).await;
    let any = "127.0.0.1:0".parse().unwrap();
    let mut config = GatewayConfig {
        admin_addr: any,
        record: stack.record_config.clone(),
        read_model: stack.read_model.clone().into(),
        writer_url: stack.writer_url.clone(),
        writer_token: stack.deps.token.clone(),
        retention: RetentionConfig { every_seconds: 1 },
        ..GatewayConfig::default()
    };
    config.grpc.addr = any;
    config.http.server.addr = any;
    let shutdown = Shutdown::new();
    let running = Box::pin(gateway::start(config, &shutdown)).await.unwrap();
    eventually("an erased conversation", || async { (!stack.erased(&["old"]).await.is_empty()).then_some(()) }).await;
    let expected = [
        "hansard_gateway_retention_changes_total{rule=\"idle\",outcome=\"changed\"} ",
        "hansard_gateway_retention_rounds_total{outcome=\"ok\"} ",
        "hansard_gateway_retention_left_over 0",
        "hansard_gateway_retention_round_seconds",
    ];
    eventually("the metrics of a round", || async {
        let metrics = scrape(running.admin_addr).await;
        expected.iter().all(|line| metrics.contains(line)).then_some(())
    })
    .await;
    assert!(stack.erased(&["kept"]).await.is_empty());
    shutdown.begin();
    shutdown.wait(Duration::from_secs(30)).await.unwrap();
}

async fn scrape(addr: std::net::SocketAddr) -> String {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let request = "GET /metrics HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}
