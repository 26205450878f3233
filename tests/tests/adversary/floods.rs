//! One address with the public key creates many sessions, and requests more runs of a slow model than there are slots.
//! Callers at other addresses are answered as before.

use std::net::Ipv4Addr;

use reqwest::{Method, Response};
use serde_json::{Value, json};
use tests::http_client::HttpClient;
use wire::proto::operate::v1 as proto;

use crate::fixture::Fixture;

/// The quotas of `deploy/gateway.toml`.
const RUNS_PER_OWNER: usize = 32;
const RUNS_PER_ADDRESS: usize = 128;

/// No run of the slow model ends during the attack.
const WORD_DELAY_MS: u64 = 60_000;

const ATTACKER: Ipv4Addr = Ipv4Addr::new(127, 8, 0, 1);
const HONEST: Ipv4Addr = Ipv4Addr::new(127, 8, 0, 2);

/// A system with an agent `slow` on the slow model and an agent `support` on `echo`, and the public key of each.
///
/// Deployments choose their models: the slow one is added to the deployed settings.
async fn fixture() -> (Fixture, [String; 2]) {
    let mut fixture = Fixture::prepare().await;
    let slow = json!({"slow": {"kind": "echo", "echo_word_delay_ms": WORD_DELAY_MS}});
    let models = serde_json::from_value(slow).expect("models");
    fixture.stack.gateway.settings.gateway.models = models;
    Box::pin(fixture.stack.start()).await;
    let operator = fixture.operator().await;
    let mut keys = Vec::new();
    for (agent, server) in [("slow", "slow"), ("support", "echo")] {
        operator.agent("acme", agent).await;
        let settings = proto::AgentSettings {
            model: Some(proto::ModelSettings {
                server: server.to_owned(),
                model: server.to_owned(),
                ..proto::ModelSettings::default()
            }),
            ..proto::AgentSettings::default()
        };
        operator.settings(agent, settings).await;
        keys.push(operator.api_key(agent).await.secret);
    }
    (fixture, keys.try_into().expect("two keys"))
}

/// Starts a run in a new chat; returns its stream or the rejection.
async fn begin(session: &HttpClient, chat: usize) -> Response {
    let words = json!({"id": "u", "role": "user", "parts": [{"type": "text", "text": "a b"}]});
    let body = json!({"id": format!("flood-{chat}"), "messages": [words]});
    let request = session.request(Method::POST, "/api/chat").json(&body);
    request.send().await.expect("an answer")
}

/// Starts runs until one is rejected; returns the streams of the active runs, and the scope of the exceeded quota.
async fn occupy(session: &HttpClient, chats: std::ops::Range<usize>) -> (Vec<Response>, String) {
    let mut streams = Vec::new();
    for chat in chats {
        let answer = begin(session, chat).await;
        if answer.status() == 200 {
            streams.push(answer);
            continue;
        }
        assert_eq!(answer.status(), 429);
        assert!(answer.headers().contains_key("retry-after"));
        let problem: Value = answer.json().await.expect("a problem");
        assert_eq!(problem["code"], "QUOTA_EXCEEDED", "{problem}");
        let metadata = &problem["metadata"];
        assert_eq!(metadata["quota"], "runs", "{problem}");
        let scope = metadata["scope"].as_str().expect("a scope");
        return (streams, scope.to_owned());
    }
    panic!("{} runs of one session were started", streams.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_address_cannot_take_all_runs() {
    let (fixture, [slow, support]) = fixture().await;
    let attacker = fixture.stranger_from(ATTACKER).with("x-api-key", &slow);
    let mut held = Vec::new();
    let mut refused_by = Vec::new();
    // One session more than needed without the quota of the address.
    for number in 0..=RUNS_PER_ADDRESS / RUNS_PER_OWNER {
        let session = attacker.in_session().await;
        let chats = number * 100..number * 100 + RUNS_PER_OWNER + 1;
        let (streams, scope) = occupy(&session, chats).await;
        held.extend(streams);
        refused_by.push(scope);
    }
    assert_eq!(held.len(), RUNS_PER_ADDRESS, "{refused_by:?}");
    let (last, owners) = refused_by.split_last().expect("refusals");
    assert_eq!(last, "address");
    assert!(owners.iter().all(|scope| scope == "owner"), "{owners:?}");

    let at_once = json!({"message": "hello"});
    let beside = fixture.stranger_from(HONEST);
    let answered = beside.with("x-api-key", &support).in_session().await;
    let answer = answered.post("/v1/chat", &at_once).await.ok(200);
    assert_eq!(answer["response"], "echo: hello");
    // The agent under attack accepts runs of others, too.
    let other = beside.with("x-api-key", &slow).in_session().await;
    assert_eq!(begin(&other, 999).await.status(), 200);
    drop(held);
}
