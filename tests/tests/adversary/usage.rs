//! A model server, or a proxy before it, reports token counts that cannot be true. They exhaust no quota and stay out of the
//! reports.

use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use domain::Timestamp;
use read_model::Day;
use serde_json::{Value, json};
use tests::errors::check_failure;
use tests::eventually::eventually;
use tests::http_client::HttpClient;
use tests::jwt;
use tests::model::{Model, Reply};
use tests::operator::Operator;
use tonic::{Code, Status};
use uuid::Uuid;
use wire::proto::operate::v1 as proto;
use wire::proto::run::v1::usage_correction::Counts;
use wire::proto::run::v1::{CorrectedModelCalls, MeterModelCallRequest, MeteredCall, UsageCorrection};

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
    /// The id of the caller's API key.
    key_id: String,
    admin: HttpClient,
    rounds: u64,
    /// The conversation of the last round.
    chat: String,
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
        Self { fixture, report, caller, key_id: key.id, admin, rounds: 0, chat: String::new() }
    }

    /// Runs a round with this report. Returns the tokens that are metered for it.
    async fn round(&mut self, report: Option<&str>) -> u64 {
        *self.report.lock().expect("no panic before") = report.map(str::to_owned);
        let before = self.metered().await.1;
        let alone = self.caller.post("/v1/chat", &json!({"message": "hello"})).await;
        assert_eq!(alone.status, 200, "{report:?}: {}", alone.text());
        let chat = self.caller.post("/api/chats", &json!({})).await.ok(201);
        chat["id"].as_str().expect("an id").clone_into(&mut self.chat);
        let path = format!("/api/chats/{}/messages", self.chat);
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

    /// The marks of the usage of the last round's recorded reply.
    async fn marks(&self) -> Vec<Value> {
        let page = self.admin.get(&format!("/v1/admin/conversations/{}/events", self.chat)).await.ok(200);
        let events = page["events"].as_array().expect("events").iter();
        events.filter(|event| event["usage"].is_object()).map(|event| event["usageSource"].clone()).collect()
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
    ] {
        assert_eq!(attack.round(Some(implausible)).await, own, "{implausible}");
        assert_eq!(attack.marks().await, ["estimated"], "{implausible}");
    }
    for no_count in [
        r#"{"prompt_tokens": 3, "completion_tokens": -1}"#,
        r#"{"prompt_tokens": 3.5, "completion_tokens": 1}"#,
        r#"{"prompt_tokens": 18446744073709551616, "completion_tokens": 1}"#,
        r#"{"prompt_tokens": 1e999, "completion_tokens": 1}"#,
    ] {
        assert_eq!(attack.round(Some(no_count)).await, own, "{no_count}");
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
        assert_eq!(attack.marks().await, [Value::Null], "{plausible}");
    }
    let recorded = sum(&attack.usage().await, "days", &["inputTokens", "outputTokens"]);
    let (_, metered) = attack.metered().await;
    assert!(recorded < metered, "{recorded} of {metered}");
    drop(attack.fixture);
}

/// The tokens of a call that the gateway metered before it checked reports, and those that it should have metered.
const POISON: u64 = 9_000_000_000_000;
const TRUE_TOKENS: u64 = 100;
const TOKENS_PER_DAY: u64 = 1_000_000;

impl Attack {
    /// Meters a call with this many tokens, and limits the tokens of the tenant.
    async fn poison(&self, operator: &Operator) {
        let gateway = operator.token(&[proto::Scope::Append], "acme").await;
        let call = MeteredCall {
            call_id: Uuid::now_v7().to_string(),
            agent_id: "support".to_owned(),
            api_key_id: self.key_id.clone(),
            input_tokens: POISON,
            ..MeteredCall::default()
        };
        let request = MeterModelCallRequest { call: Some(call) };
        let metered = operator.caller().with_token(&gateway.secret).runs().meter_model_call(request).await;
        assert!(metered.expect("an answer").into_inner().is_counted);
        let scope = proto::QuotaLimits { model_tokens_per_day: Some(TOKENS_PER_DAY), ..proto::QuotaLimits::default() };
        let request = proto::SetTenantQuotasRequest {
            tenant_id: "acme".to_owned(),
            quotas: Some(proto::Quotas {
                tenant: Some(scope),
                agent: Some(scope),
                key: Some(scope),
                ..Default::default()
            }),
            update_mask: None,
        };
        operator.registry().set_tenant_quotas(request).await.expect("quotas");
    }

    /// Waits until the quota allows a turn, or until it rejects one. The rate limit of the address may reject some.
    async fn until_allowed(&self, is_allowed: bool) {
        eventually(&format!("a turn; allowed: {is_allowed}"), || async {
            let answer = self.caller.post("/v1/chat", &json!({"message": "hello"})).await;
            let is_rejected = answer.status_and_code() == (429, "QUOTA_EXCEEDED".to_owned());
            let is_expected = if is_allowed { answer.status == 200 } else { is_rejected };
            is_expected.then_some(())
        })
        .await;
    }

    /// A correction of the poisoned calls.
    fn correction(&self) -> proto::CorrectUsageRequest {
        let calls = CorrectedModelCalls { api_key_id: self.key_id.clone(), ..CorrectedModelCalls::default() };
        let correction = UsageCorrection {
            correction_id: Uuid::now_v7().to_string(),
            agent_id: "support".to_owned(),
            day: Some(SystemTime::now().into()),
            counts: Some(Counts::ModelCalls(calls)),
            input_tokens: i64::try_from(TRUE_TOKENS).expect("small") - i64::try_from(POISON).expect("small"),
            ..UsageCorrection::default()
        };
        proto::CorrectUsageRequest { correction: Some(correction), reason: "a poisoned proxy".to_owned() }
    }
}

async fn correct(operator: &Operator, token: &str, request: &proto::CorrectUsageRequest) -> Result<(), Status> {
    let mut registry = operator.caller().with_token(token).registry();
    let corrected = registry.correct_usage(request.clone()).await?;
    assert!(corrected.into_inner().is_stored);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poisoned_day_is_corrected_by_the_operator_alone() {
    let mut attack = Attack::begin().await;
    let operator = attack.fixture.operator().await;
    operator.tenant("globex").await;
    attack.until_allowed(true).await;
    attack.poison(&operator).await;
    attack.until_allowed(false).await;

    let request = attack.correction();
    for (scope, tenant, expected) in [
        (proto::Scope::Operate, "globex", (Code::NotFound, "REGISTRY_ENTRY_NOT_FOUND", "correction.agent_id")),
        // A tenant would lower what its own quota counts.
        (proto::Scope::Operate, "acme", (Code::PermissionDenied, "MISSING_SCOPE", "")),
        (proto::Scope::Append, "acme", (Code::PermissionDenied, "MISSING_SCOPE", "")),
        (proto::Scope::Append, "", (Code::PermissionDenied, "MISSING_SCOPE", "")),
    ] {
        let token = operator.token(&[scope], tenant).await.secret;
        check_failure(tenant, correct(&operator, &token, &request).await, expected);
    }
    let token = operator.token(&[proto::Scope::Operate], "").await.secret;
    // A retry changes nothing, and an id corrects nothing else.
    for _ in 0..2 {
        correct(&operator, &token, &request).await.expect("a correction");
    }
    let mut other = request.clone();
    other.correction.as_mut().expect("set above").output_tokens = -1;
    let reused = (Code::FailedPrecondition, "IDEMPOTENCY_KEY_REUSED", "correction.correction_id");
    check_failure("another correction", correct(&operator, &token, &other).await, reused);
    attack.until_allowed(true).await;
    let (_, tokens) = attack.metered().await;
    assert!((TRUE_TOKENS..TOKENS_PER_DAY).contains(&tokens), "{tokens}");

    attack.fixture.stack.gateway.stop().await;
    attack.fixture.stack.gateway.start().await;
    attack.until_allowed(true).await;
}
