//! Alerts and the dashboard query metrics that a running system exports.

pub(super) mod promql;

use serde_json::{Value, json};
use tests::admin;
use tests::agent::Agent;
use tests::events::user;
use tests::eventually::eventually;
use tests::operator::Operator;
use tests::program;
use tests::stack::Stack;

use self::promql::{Match, Selector, selectors};
use super::documents::{at, items, json, text_at, yaml};
use tests::nats_accounts;
use tests::port;

/// The expressions for Prometheus, Grafana and KEDA, each with its location.
fn expressions() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let rules = yaml("prometheus/rules.yaml").pop().expect("a document");
    for rule in items(&rules, "/groups/0/rules") {
        let alert = text_at(rule, "/alert").to_owned();
        found.push((alert, text_at(rule, "/expr").to_owned()));
    }
    let dashboard = json("grafana/hansard.json");
    for panel in items(&dashboard, "/panels") {
        let title = text_at(panel, "/title");
        for target in items(panel, "/targets") {
            found.push((title.to_owned(), text_at(target, "/expr").to_owned()));
        }
    }
    for scaled in yaml("kubernetes/autoscaling.yaml") {
        let role = text_at(&scaled, "/metadata/name").to_owned();
        for trigger in items(&scaled, "/spec/triggers") {
            found.push((role.clone(), text_at(trigger, "/metadata/query").to_owned()));
        }
    }
    found
}

fn is_in(selector: &Selector, scrape: &str) -> bool {
    let named = |line: &&str| {
        let rest = line.strip_prefix(selector.metric.as_str());
        rest.is_some_and(|rest| rest.starts_with(['{', ' ']))
    };
    scrape.lines().filter(named).any(|line| {
        selector.labels.iter().all(|label| match label {
            // Prometheus adds it.
            Match::Exact(name, _) if name == "job" => true,
            Match::Exact(name, value) => line.contains(&format!("{name}=\"{value}\"")),
            Match::Pattern(name) => line.contains(&format!("{name}=\"")),
        })
    })
}

async fn scrape(stack: &Stack) -> String {
    let mut pages = String::new();
    for node in [&stack.writer, &stack.projector, &stack.gateway] {
        let page = admin::get(node.admin_addr(), "/metrics").await;
        pages += &page.expect("metrics").body;
    }
    pages
}

/// Reads contexts from rows and from the tail.
async fn read_contexts(stack: &mut Stack, agent: &Agent) {
    agent.create("c").await;
    agent.append("c", vec![user("one")]).await;
    agent.wait_for_rows("c", 2).await;
    agent.context("c", 5).await;
    stack.projector.stop().await;
    agent.append("c", vec![user("two")]).await;
    agent.context("c", 5).await;
    stack.projector.start().await;
    agent.wait_for_rows("c", 3).await;
    let request = agent.watch_request("c", 1);
    let watch = agent.caller().read().watch_conversation(request).await;
    drop(watch.expect("a watch"));
}

/// Runs one chat turn with an answer of a model.
async fn chat_turn(stack: &Stack, operator: &Operator, agent: &Agent) {
    let key = operator.api_key(agent.id()).await;
    let client = stack.http_client().with("x-api-key", &key.secret).in_session().await;
    let chat = client.post("/api/chats", &json!({})).await.ok(201);
    let path = format!("/api/chats/{}/messages", text_at(&chat, "/id"));
    let heard = client.post(&path, &json!({"content": "hello"})).await;
    assert_eq!(heard.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn queried_metrics_exist() {
    let mut stack = nats_accounts::prepare(program!()).await;
    let settings = &mut stack.gateway.settings.gateway;
    settings.retention.every_seconds = 1;
    // Nothing listens there.
    settings.read_model.replica_urls = vec![format!("postgres://{}/hansard", port::free())];
    Box::pin(stack.start()).await;
    let operator = stack.operator().await;
    let agent = operator.agent("acme", "support").await;
    Box::pin(read_contexts(&mut stack, &agent)).await;
    Box::pin(chat_turn(&stack, &operator, &agent)).await;
    let asked: Vec<(String, Selector)> = expressions()
        .iter()
        .flat_map(|(place, expression)| selectors(expression).into_iter().map(|one| (place.clone(), one)))
        .collect();
    assert!(asked.len() > 50, "{}", asked.len());
    let stack = &stack;
    for (place, selector) in asked {
        eventually(&format!("{place}: {selector:?}"), || async {
            is_in(&selector, &scrape(stack).await).then_some(())
        })
        .await;
    }
}

#[test]
fn every_alert_has_instructions() {
    let rules = yaml("prometheus/rules.yaml").pop().expect("a document");
    for rule in items(&rules, "/groups/0/rules") {
        for text in ["/labels/severity", "/annotations/summary", "/annotations/action", "/for"] {
            assert!(!text_at(rule, text).is_empty(), "{rule}");
        }
    }
    for (place, expression) in expressions() {
        let asks = selectors(&expression).len() + usize::from(expression.starts_with("up{"));
        assert!(asks > 0, "{place}: {expression}");
    }
}

#[test]
fn panels_have_unique_ids_and_positions() {
    let dashboard = json("grafana/hansard.json");
    let panels = items(&dashboard, "/panels");
    let mut seen: Vec<(&Value, &Value, &Value)> = Vec::new();
    for panel in panels {
        let place = (at(panel, "/id"), at(panel, "/gridPos/x"), at(panel, "/gridPos/y"));
        assert!(seen.iter().all(|other| other.0 != place.0 && (other.1, other.2) != (place.1, place.2)));
        seen.push(place);
    }
}
