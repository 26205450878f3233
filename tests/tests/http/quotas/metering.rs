//! Every call of a model is metered durably: in usage, over restarts and over gateways.

use std::time::{SystemTime, UNIX_EPOCH};

use domain::Timestamp;
use read_model::Day;
use serde_json::{Value, json};
use tests::door::{Answer, Door};
use tests::events::{assistant, user};
use tests::eventually::eventually;
use tests::settings::Role;
use wire::proto::operate::v1 as proto;

use super::ground::{check_refused, ground, say, session, set};
use crate::ground::{AGENT, Ground, begin};

const TOKENS: &str = "model_tokens_per_day";
const DAY_NANOS: i64 = 86_400_000_000_000;

fn tokens(answer: &Value) -> u64 {
    let count = |name: &str| answer["usage"][name].as_u64().unwrap();
    count("input_tokens") + count("output_tokens")
}

/// What is used of yesterday and today: midnight may pass meanwhile.
async fn usage(ground: &Ground) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = i64::try_from(now.as_nanos()).unwrap();
    let [from, to] = [now - DAY_NANOS, now].map(|nanos| Day::from_time(Timestamp(nanos)));
    let path = format!("/v1/admin/usage?from={from}&to={to}");
    ground.admin().get(&path).await.ok(200)
}

/// The sum of some counts over all days of a list, of those that have a member.
fn sum(page: &Value, list: &str, (of, counts): (&str, &[&str])) -> u64 {
    let days = page[list].as_array().unwrap().iter();
    let days = days.filter(|day| day[of].is_string());
    let count =
        |day: &Value| -> u64 { counts.iter().map(|name| day[*name].as_u64().unwrap()).sum() };
    days.map(count).sum()
}

/// Waits until so many calls of the agent, all by its key, are metered; their tokens.
async fn until_metered(ground: &Ground, calls: u64) -> u64 {
    eventually(&format!("{calls} metered calls"), || async {
        let page = usage(ground).await;
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
async fn turn(door: &Door, chat: &str) -> Answer {
    let path = format!("/api/chats/{chat}/messages");
    door.post(&path, &json!({"content": "a b"})).await
}

/// Has long histories of the agent summarised, by a model that takes no time.
async fn summarise(ground: &Ground) {
    let summaries = proto::SummarySettings {
        model: Some(proto::ModelSettings {
            server: "echo".to_owned(),
            ..proto::ModelSettings::default()
        }),
        tokens_min: 1_000,
        tokens_kept: 200,
    };
    let request = proto::SetAgentSettingsRequest {
        agent_id: AGENT.to_owned(),
        settings: Some(proto::AgentSettings {
            summaries: Some(summaries),
            ..proto::AgentSettings::default()
        }),
        update_mask: Some(prost_types::FieldMask {
            paths: vec!["summaries".to_owned()],
        }),
    };
    let mut registry = ground.operator.registry();
    registry.set_agent_settings(request).await.unwrap();
    // The gateway learns of the registry's changes in their order.
    set(ground, "owner", "runs", Some(1_000)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_is_in_the_usage_once() {
    let ground = ground(|_| (), |_| ()).await;
    let door = session(&ground, "ada", "192.0.2.1");
    let spent = tokens(&say(&door, "a b").await.ok(200));
    assert_eq!(until_metered(&ground, 1).await, spent);
    let chat = begin(&door, &json!({})).await;
    assert_eq!(turn(&door, &chat).await.status, 200);
    until_metered(&ground, 2).await;
    summarise(&ground).await;
    let words = "word ".repeat(400);
    let said = (0..8).map(|nth| {
        if nth % 2 == 0 {
            user(words.clone())
        } else {
            assistant(&words)
        }
    });
    ground.agent.append(&chat, said.collect()).await;
    assert_eq!(turn(&door, &chat).await.status, 200);
    // The turn's and the summary's.
    until_metered(&ground, 4).await;
    // Messages are another list: the recorded turns, and nothing else.
    eventually("messages in the usage", || async {
        let page = usage(&ground).await;
        let messages = sum(&page, "days", ("agentId", &["messages"]));
        assert!(messages <= 2, "{page}");
        (messages == 2).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn spent_tokens_stay_spent_over_restarts_and_gateways() {
    let mut ground = ground(|_| (), |_| ()).await;
    let spent = tokens(
        &say(&session(&ground, "ada", "192.0.2.1"), "a b")
            .await
            .ok(200),
    );
    until_metered(&ground, 1).await;
    ground.stack.gateway.stop().await;
    ground.stack.gateway.start().await;
    let ada = session(&ground, "ada", "192.0.2.1");
    for scope in ["tenant", "agent", "key", "owner"] {
        set(&ground, scope, TOKENS, Some(spent)).await;
        check_refused(&say(&ada, "a b").await, (scope, TOKENS), spent);
        let chat = begin(&ada, &json!({})).await;
        check_refused(&turn(&ada, &chat).await, (scope, TOKENS), spent);
        set(&ground, scope, TOKENS, Some(1_000_000)).await;
    }
    // Another gateway adds its own to what this one has spent.
    let mut other = ground.stack.another(Role::Gateway);
    let configured = &ground.stack.gateway.settings.gateway;
    other.settings.gateway.models = configured.models.clone();
    other.settings.gateway.http.trusted_proxies = configured.http.trusted_proxies.clone();
    other.start().await;
    let there = ada.moved_to(other.settings.gateway.http.server.addr);
    set(&ground, "owner", TOKENS, Some(2 * spent)).await;
    eventually("another gateway that knows the quota", || async {
        let bound = super::ground::bound(&there, "owner", TOKENS).await;
        (bound == Some(2 * spent)).then_some(())
    })
    .await;
    assert_eq!(say(&there, "a b").await.status, 200);
    check_refused(&say(&there, "a b").await, ("owner", TOKENS), 2 * spent);
    eventually("this gateway knows what the other spent", || async {
        let page = usage(&ground).await;
        let mut quotas = page["quotas"].as_array().unwrap().iter();
        let tokens = quotas.find(|quota| quota["quota"] == TOKENS).unwrap();
        (tokens["used"] == 2 * spent).then_some(())
    })
    .await;
}
