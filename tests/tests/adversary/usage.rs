//! A model server, or a proxy before it, reports token counts that cannot be true. They exhaust no quota and stay out of the
//! reports.

use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use domain::Timestamp;
use read_model::Day;
use serde_json::{Value, json};
use tests::eventually::eventually;
use tests::http_client::HttpClient;
use tests::jwt;
use tests::model::{Model, Reply};
use wire::proto::operate::v1 as proto;

use crate::fixture::Fixture;

/// The model calls of a round: a stateless turn, a recorded turn and the title of its conversation.
const CALLS: u64 = 3;
const DAY_NANOS: i64 = 86_400_000_000_000;

/// The `usage` of the next replies, as JSON; `None`: they report none.
type Report = Arc<Mutex<Option<String>>>;

struct Attack {
    fixture: Fixture,
    report: Report,
    caller: HttpClient,
    admin: HttpClient,
    rounds: u64,
}

impl Attack {
    /// A system whose agent `support` answers and writes titles with a model server of the attacker.
    async fn begin() -> Self {
        let report = Report::default();
        let reported = Arc::clone(&report);
        let model = Model::start(move |_| match reported.lock().expect("no panic before").clone() {
            None => Reply::Text("fine".to_owned()),
            Some(usage) => Reply::Reporting("fine".to_owned(), usage),
        })
        .await;
        let mut fixture = Fixture::prepare().await;
        let models = serde_json::from_value(model.settings_as("scripted")).expect("models");
        fixture.stack.gateway.settings.gateway.models = models;
        Box::pin(fixture.stack.start()).await;
        let operator = fixture.operator().await;
        operator.agent("acme", "support").await;
        let model = proto::ModelSettings {
            server: "scripted".to_owned(),
            model: "m".to_owned(),
            ..proto::ModelSettings::default()
        };
        let titles = proto::TitleSettings { model: Some(model.clone()), ..proto::TitleSettings::default() };
        let settings =
            proto::AgentSettings { model: Some(model), titles: Some(titles), ..proto::AgentSettings::default() };
        operator.settings("support", settings).await;
        let secret = operator.signing_key("acme", "admins", proto::SigningKeyUse::Admin).await;
        let key = operator.api_key("support").await;
        let caller = fixture.stranger().with("x-api-key", &key.secret).in_session().await;
        let token = format!("Bearer {}", jwt::admin(&secret, "acme"));
        let admin = fixture.stranger().with("authorization", &token);
        Self { fixture, report, caller, admin, rounds: 0 }
    }

    /// Runs a round with this report. Returns the tokens that are metered for it.
    async fn round(&mut self, report: Option<&str>) -> u64 {
        *self.report.lock().expect("no panic before") = report.map(str::to_owned);
        let before = self.metered().await.1;
        let alone = self.caller.post("/v1/chat", &json!({"message": "hello"})).await;
        assert_eq!(alone.status, 200, "{report:?}: {}", alone.text());
        let chat = self.caller.post("/api/chats", &json!({})).await.ok(201);
        let path = format!("/api/chats/{}/messages", chat["id"].as_str().expect("an id"));
        let recorded = self.caller.post(&path, &json!({"content": "hello"})).await;
        assert_eq!(recorded.status, 200, "{report:?}: {}", recorded.text());
        self.rounds += 1;
        let after = eventually(&format!("the metered calls of {report:?}"), || async {
            let (calls, tokens) = self.metered().await;
            (calls == CALLS * self.rounds).then_some(tokens)
        })
        .await;
        after - before
    }

    /// The metered calls and their tokens.
    async fn metered(&self) -> (u64, u64) {
        let usage = self.usage().await;
        (sum(&usage, "calls", &["calls"]), sum(&usage, "calls", &["inputTokens", "outputTokens"]))
    }

    /// The usage of yesterday and today, because midnight may pass during the test.
    async fn usage(&self) -> Value {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970");
        let now = i64::try_from(now.as_nanos()).expect("a time before 2262");
        let [from, to] = [now - DAY_NANOS, now].map(|nanos| Day::from_time(Timestamp(nanos)));
        self.admin.get(&format!("/v1/admin/usage?from={from}&to={to}")).await.ok(200)
    }
}

/// The sum of these counts over the entries of agents.
fn sum(usage: &Value, list: &str, counts: &[&str]) -> u64 {
    let days = usage[list].as_array().expect("a list").iter().filter(|day| day["agentId"].is_string());
    days.flat_map(|day| counts.iter().map(|count| day[*count].as_u64().expect("a count"))).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_that_cannot_be_true_are_not_counted() {
    let mut attack = Attack::begin().await;
    let own = attack.round(None).await;
    let most = u64::MAX;
    let thousandfold = format!(r#"{{"prompt_tokens": {}, "completion_tokens": 1}}"#, own * 1_000);
    for implausible in [
        &format!(r#"{{"prompt_tokens": {most}, "completion_tokens": {most}}}"#),
        &format!(r#"{{"prompt_tokens": {most}, "completion_tokens": 1}}"#),
        &format!(r#"{{"prompt_tokens": 1, "completion_tokens": {most}}}"#),
        &thousandfold,
        r#"{"prompt_tokens": 3, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 4}}"#,
        r#"{"prompt_tokens": 3, "completion_tokens": -1}"#,
        r#"{"prompt_tokens": 3.5, "completion_tokens": 1}"#,
        r#"{"prompt_tokens": 18446744073709551616, "completion_tokens": 1}"#,
        r#"{"prompt_tokens": 1e999, "completion_tokens": 1}"#,
    ] {
        assert_eq!(attack.round(Some(implausible)).await, own, "{implausible}");
    }
    for (plausible, tokens) in [
        (r#"{"prompt_tokens": 3, "completion_tokens": 1}"#, 4),
        (
            r#"{"prompt_tokens": 300, "prompt_tokens_details": {"cached_tokens": 256},
            "completion_tokens": 30000, "completion_tokens_details": {"reasoning_tokens": 29999}}"#,
            30_300,
        ),
    ] {
        let plausible = plausible.replace('\n', " ");
        assert_eq!(attack.round(Some(&plausible)).await, CALLS * tokens, "{plausible}");
    }
    let recorded = sum(&attack.usage().await, "days", &["inputTokens", "outputTokens"]);
    let (_, metered) = attack.metered().await;
    assert!(recorded < metered, "{recorded} of {metered}");
    drop(attack.fixture);
}
