//! Usage: sums, files, bounds and costs.

use serde_json::json;
use tests::dashboard::Browser;
use tests::events::answer_with_usage;
use tests::eventually::eventually;
use wire::proto::operate::v1::DashboardRole;

use crate::fixture::{Fixture, begin};

/// A model whose name is script, and a formula of spreadsheets.
const HOSTILE: &str = "=HYPERLINK(\"x\")<script>alert(1)</script>";

async fn viewer(fixture: &Fixture, tenant: &str) -> Browser {
    let client = fixture.stack.http_client();
    Browser::signed_in(client, &fixture.operator, tenant, DashboardRole::Viewer).await
}

/// A conversation with 40 input tokens of two models and a completed run; returns its id once the rows contain it.
async fn conversation(fixture: &Fixture) -> String {
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    let message = format!("/api/chats/{chat}/messages");
    let answer = session.post(&message, &json!({"content": "hello"})).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let events = vec![answer_with_usage("m1", 30), answer_with_usage(HOSTILE, 10)];
    let appended = fixture.agent.append(&chat, events).await;
    fixture.agent.wait_for_rows(&chat, appended.version).await;
    chat
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_shown_and_downloaded() {
    let fixture = Fixture::new().await;
    conversation(&fixture).await;
    let browser = viewer(&fixture, fixture.tenant).await;
    // The rows of the sign-in follow it.
    let page = eventually("a page of current rows", || async {
        let page = browser.get("/dashboard/usage").await.text();
        page.contains("Current").then_some(page)
    })
    .await;
    for text in [
        "Tokens by day",
        "Tokens by agent",
        "Tokens by model",
        "Ended runs by day and outcome",
        "m1",
        "completed",
        "<svg",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!page.contains("<script>alert"), "{page}");
    assert!(!page.contains("style="), "{page}");
    assert!(!page.contains("<dt>Cost</dt>"), "{page}");
    let file = browser.get("/dashboard/usage/download").await;
    assert_eq!(file.headers["content-type"], "text/csv; charset=utf-8; header=present");
    assert!(file.headers["content-disposition"].starts_with("attachment; filename=\"usage-"));
    let text = file.text();
    let header = "day,agent,model,messages,input_tokens,cached_tokens,output_tokens,reasoning_tokens,cost,currency\r\n";
    assert!(text.starts_with(header), "{text}");
    assert!(text.contains(&format!(",{},m1,1,30,1,2,0,,\r\n", fixture.agent_id)), "{text}");
    assert!(text.contains(",\"'=HYPERLINK"), "{text}");
    let runs = browser.get("/dashboard/usage/runs").await.text();
    assert!(runs.starts_with("day,agent,outcome,runs\r\n"), "{runs}");
    assert!(runs.ends_with(&format!(",{},completed,1\r\n", fixture.agent_id)), "{runs}");
    let administrator = DashboardRole::Administrator;
    let client = fixture.stack.http_client();
    let administrator = Browser::signed_in(client, &fixture.operator, fixture.tenant, administrator).await;
    let log = administrator.get("/dashboard/audit").await.text();
    assert!(log.contains("<td>exported</td><td></td><td>usage</td>"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_of_the_tenant_and_the_agent() {
    let fixture = Fixture::new().await;
    conversation(&fixture).await;
    let browser = viewer(&fixture, fixture.tenant).await;
    let foreign = viewer(&fixture, fixture.foreign_tenant).await;
    let check = async |browser: &Browser, query: &str, expected: bool| {
        let page = browser.get(&format!("/dashboard/usage{query}")).await.text();
        // As a whole cell: a random token can contain it.
        assert_eq!(page.contains(">m1<"), expected, "{query}: {page}");
        assert_eq!(page.contains("No usage"), !expected, "{query}: {page}");
        let file = browser.get(&format!("/dashboard/usage/download{query}")).await.text();
        assert_eq!(file.contains("m1"), expected, "{query}: {file}");
        let file = browser.get(&format!("/dashboard/usage/runs{query}")).await.text();
        assert_eq!(file.contains("completed"), expected, "{query}: {file}");
    };
    check(&browser, "", true).await;
    check(&browser, &format!("?agent={}", fixture.agent_id), true).await;
    check(&browser, &format!("?agent={}", fixture.other_agent_id), false).await;
    check(&browser, "?from=2001-01-01&to=2001-01-31", false).await;
    check(&foreign, "", false).await;
    check(&foreign, &format!("?agent={}", fixture.agent_id), false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_is_bounded() {
    let fixture = Fixture::new().await;
    let browser = viewer(&fixture, fixture.tenant).await;
    for path in ["", "/download", "/runs"] {
        for (query, expected) in [
            ("from=2024-01-01&to=2024-12-31", 200),
            ("from=2024-01-01&to=2025-01-01", 400),
            ("from=2024-01-02&to=2024-01-01", 400),
            ("from=yesterday&to=2024-01-01", 400),
            ("to=9999-99-99", 400),
            ("agent=no%20agent", 400),
        ] {
            let answer = browser.get(&format!("/dashboard/usage{path}?{query}")).await;
            assert_eq!(answer.status, expected, "{path}?{query}: {}", answer.text());
        }
    }
    let page = browser.get("/dashboard/usage?from=2024-01-01&to=2025-01-01").await.text();
    assert!(page.contains("at most 366"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn models_with_a_price_have_a_cost() {
    let fixture = Fixture::with(|gateway| {
        let prices = json!([{ "model": "m1", "input": "1000", "cached_input": "0", "output": "5000.5" }]);
        gateway.http.dashboard.prices = serde_json::from_value(prices).unwrap();
        gateway.http.dashboard.currency = "EUR".to_owned();
    })
    .await;
    let chat = conversation(&fixture).await;
    let browser = viewer(&fixture, fixture.tenant).await;
    // 29 tokens at 0.001, and two at 0.0050005.
    let page = browser.get("/dashboard/usage").await.text();
    assert!(page.contains("<dd>at least 0.03 EUR</dd>"), "{page}");
    assert!(page.contains("<td class=\"number\">0.03 EUR</td>"), "{page}");
    let file = browser.get("/dashboard/usage/download").await.text();
    assert!(file.contains(",m1,1,30,1,2,0,0.03,EUR\r\n"), "{file}");
    let transcript = browser.get(&format!("/dashboard/conversations/{chat}")).await.text();
    let expected = "read 30 (cached 1), wrote 2 tokens, cost 0.03 EUR";
    assert!(transcript.contains(expected), "{transcript}");
}
