//! The metrics of histories.

use tests::admin;
use tests::eventually::eventually;
use tests::stack::Setup;

use super::calls::{key, load_request, record_request, try_load, try_record};

#[tokio::test(flavor = "multi_thread")]
async fn calls_refusals_and_truncation() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    let (good, bad) = (key(&agent, "room"), key(&agent, "{{missing}}"));
    for key in [&good, &bad] {
        try_record(&agent, record_request(key, &["u 1", "a 2"])).await.expect("an answer");
        let mut request = load_request(key, &["u 3", "u 4"]);
        request.messages_max = 1;
        try_load(&agent, request).await.expect("a history");
    }
    for begin in [
        r#"hansard_gateway_history_seconds_count{rpc="load",outcome="ok"}"#,
        r#"hansard_gateway_history_seconds_count{rpc="record",outcome="ok"}"#,
        r#"hansard_gateway_history_seconds_count{rpc="load",outcome="NO_VALID_KEY"}"#,
        r#"hansard_gateway_history_seconds_count{rpc="record",outcome="NO_VALID_KEY"}"#,
        r#"hansard_gateway_history_keys_refused_total{reason="UNRESOLVED"}"#,
        "hansard_gateway_history_truncated_total",
    ] {
        eventually(begin, || async {
            let page = admin::get(stack.gateway.admin_addr(), "/metrics").await.ok()?;
            page.body.lines().any(|line| line.starts_with(begin)).then_some(())
        })
        .await;
    }
}
