//! Every call of a model is metered durably: in the usage, over restarts and gateways.

use std::time::{SystemTime, UNIX_EPOCH};

use domain::Timestamp;
use read_model::Day;
use serde_json::{Value, json};
use tests::events::{assistant, user};
use tests::eventually::eventually;
use tests::http_client::{Answer, HttpClient};
use tests::settings::Role;
use wire::proto::operate::v1 as proto;

use super::fixture::{check_refused, fixture, say, session, set};
use crate::fixture::{Fixture, begin};

const TOKENS: &str = "model_tokens_per_day";
const DAY_NANOS: i64 = 86_400_000_000_000;

fn tokens(answer: &Value) -> u64 {
    let count = |name: &str| answer["usage"][name].as_u64().unwrap();
    count("input_tokens") + count("output_tokens")
}

/// The usage of yesterday and today, because midnight may pass during the test.
async fn usage(fixture: &Fixture) -> Value {
    let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap();
    let [from, to] = [now - DAY_NANOS, now].map(|nanos| Day::from_time(Timestamp(nanos)));
    let path = format!("/v1/admin/usage?from={from}&to={to}");
    fixture.admin().get(&path).await.ok(200)
}

/// The sum of some counts over all days, for entries with a member.
fn sum(page: &Value, list: &str, (of, counts): (&str, &[&str])) -> u64 {
    let days = page[list].as_array().unwrap().iter().filter(|day| day[of].is_string());
    let count = |day: &Value| -> u64 { counts.iter().map(|name| day[*name].as_u64().unwrap()).sum() };
    days.map(count).sum()
}

/// Waits until this many calls of the agent, all with its key, are metered; returns their tokens.
async fn until_metered(fixture: &Fixture, calls: u64) -> u64 {
    eventually(&format!("{calls} metered calls"), || async {
        let page = usage(fixture).await;
        let of = |of| {
            let count = |counts| sum(&page, "calls", (of, counts));
            (count(&["calls"]), count(&["inputTokens", "outputTokens"]))
        };
        let (agent, key) = (of("agentId"), of("apiKeyId"));
        assert!(agent.0 <= calls, "{page}");
        assert_eq!(agent, key);
        (agent.0 == calls).then_some(agent.1)
    })
    .await
}

/// A recorded turn in a chat.
async fn turn(client: &HttpClient, chat: &str) -> Answer {
    let path = format!("/api/chats/{chat}/messages");
    client.post(&path, &json!({"content": "a b"})).await
}

/// Enables summaries of long histories of the agent, with a model without delay.
async fn summarise(fixture: &Fixture) {
    let summaries = proto::SummarySettings {
        model: Some(proto::ModelSettings { server: "echo".to_owned(), ..proto::ModelSettings::default() }),
        tokens_min: 1_000,
        tokens_kept: 200,
    };
    let request = proto::SetAgentSettingsRequest {
        agent_id: fixture.agent_id.to_owned(),
        settings: Some(proto::AgentSettings { summaries: Some(summaries), ..proto::AgentSettings::default() }),
        update_mask: Some(prost_types::FieldMask { paths: vec!["summaries".to_owned()] }),
    };
    let mut registry = fixture.operator.registry();
    registry.set_agent_settings(request).await.unwrap();
    // The gateway applies the registry's changes in order.
    set(fixture, "owner", "runs", Some(1_000)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_call_is_counted_once() {
    let fixture = fixture(|_| (), |_| ()).await;
    let client = session(&fixture, "ada", "192.0.2.1");
    let spent = tokens(&say(&client, "a b").await.ok(200));
    assert_eq!(until_metered(&fixture, 1).await, spent);
    let chat = begin(&client, &json!({})).await;
    assert_eq!(turn(&client, &chat).await.status, 200);
    until_metered(&fixture, 2).await;
    summarise(&fixture).await;
    let words = "word ".repeat(400);
    let messages_of_history = (0..8).map(|nth| if nth % 2 == 0 { user(words.clone()) } else { assistant(&words) });
    fixture.agent.append(&chat, messages_of_history.collect()).await;
    assert_eq!(turn(&client, &chat).await.status, 200);
    // The call of the turn and the call of the summary.
    until_metered(&fixture, 4).await;
    // Messages are counted separately: only the recorded turns.
    eventually("messages in the usage", || async {
        let page = usage(&fixture).await;
        let messages = sum(&page, "days", ("agentId", &["messages"]));
        assert!(messages <= 2, "{page}");
        (messages == 2).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn spent_tokens_persist_over_restarts_and_gateways() {
    let mut fixture = fixture(|_| (), |_| ()).await;
    let spent = tokens(&say(&session(&fixture, "ada", "192.0.2.1"), "a b").await.ok(200));
    until_metered(&fixture, 1).await;
    fixture.stack.gateway.stop().await;
    fixture.stack.gateway.start().await;
    let ada = session(&fixture, "ada", "192.0.2.1");
    for scope in ["tenant", "agent", "key", "owner"] {
        set(&fixture, scope, TOKENS, Some(spent)).await;
        check_refused(&say(&ada, "a b").await, (scope, TOKENS), spent);
        let chat = begin(&ada, &json!({})).await;
        check_refused(&turn(&ada, &chat).await, (scope, TOKENS), spent);
        set(&fixture, scope, TOKENS, Some(1_000_000)).await;
    }
    // Another gateway adds its usage to that of this one.
    let mut other = fixture.stack.another(Role::Gateway);
    let configured = &fixture.stack.gateway.settings.gateway;
    other.settings.gateway.models = configured.models.clone();
    other.settings.gateway.http.trusted_proxies = configured.http.trusted_proxies.clone();
    other.start().await;
    let there = ada.with_addr(other.settings.gateway.http.server.addr);
    set(&fixture, "owner", TOKENS, Some(2 * spent)).await;
    eventually("another gateway that knows the quota", || async {
        let bound = super::fixture::bound(&there, "owner", TOKENS).await;
        (bound == Some(2 * spent)).then_some(())
    })
    .await;
    assert_eq!(say(&there, "a b").await.status, 200);
    check_refused(&say(&there, "a b").await, ("owner", TOKENS), 2 * spent);
    eventually("this gateway knows what the other spent", || async {
        let page = usage(&fixture).await;
        let mut quotas = page["quotas"].as_array().unwrap().iter();
        let tokens = quotas.find(|quota| quota["quota"] == TOKENS).unwrap();
        (tokens["used"] == 2 * spent).then_some(())
    })
    .await;
}
