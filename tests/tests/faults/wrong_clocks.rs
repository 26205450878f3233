//! Decisions of a writer, a gateway, a projector and an operator's command whose clocks are wrong by an hour, a day and a month,
//! ahead and back. The time of the record's servers, or a monotonic clock, decides.

use std::path::Path;
use std::time::Duration;

use domain::{Label, TenantId, Timestamp};
use identity::token_id_digest;
use registry::{NewServiceToken, Registry, Scope, Scopes};
use runtime::clock::Clock;
use serde_json::{Value, json};
use tests::admin;
use tests::agent::Agent;
use tests::events::user;
use tests::eventually::eventually;
use tests::http_client::HttpClient;
use tests::operator::echo;
use tonic::Code::{ResourceExhausted, Unauthenticated};
use uuid::Uuid;
use wire::proto::document::v1 as document;
use wire::proto::operate::v1 as proto;

use crate::faketime::WrongClock;
use crate::fixture::{AGENT, Fixture, OTHER_TENANT, TENANT};
use crate::table::{Row, add};

const TITLE: &str = "the clocks of a writer, a gateway, a projector and a command wrong by an hour, a day and a month";
/// The offsets of all clocks at once, in seconds: an hour, a day, a month.
const OFFSETS: [i64; 6] = [3_600, -3_600, 86_400, -86_400, 2_592_000, -2_592_000];
/// Longer than a test, and shorter than each offset.
const HALF_HOUR: Duration = Duration::from_mins(30);
/// A conversation that idles for less than [`HALF_HOUR`].
const IDLE: &str = "idle";
/// Rounds of retention after a clock was set: the first may have begun before.
const ROUNDS: u64 = 2;
/// Bytes that a tenant may append per minute, and the random bytes of a commit that takes most of them.
const BYTES_PER_MINUTE: u64 = 30_000;
const LARGE_BYTES: usize = 28_000;
/// Days of logged calls.
const LOG_DAYS: u32 = 3;

/// The system with wrong clocks.
struct Scene<'f> {
    fixture: &'f mut Fixture,
    clocks: [&'f WrongClock; 3],
    library: &'f Path,
    registry: Registry,
    page: HttpClient,
    /// A token that expires in half an hour, and one that expired half an hour ago.
    tokens: [Agent; 2],
    revoked: Vec<String>,
}

/// Checks the decisions; `writer` is the clock of the first writer, to which the gateway is connected.
pub(crate) async fn check(fixture: &mut Fixture, library: &Path, writer: &WrongClock) {
    writer.set(0);
    prepare(fixture).await;
    // The other projector must not project the logged calls.
    fixture.second_projector.kill();
    let projector = WrongClock::of(&mut fixture.stack.projector, library).await;
    fixture.stack.gateway.settings.gateway.retention.every_seconds = 1;
    let gateway = WrongClock::of(&mut fixture.stack.gateway, library).await;
    let registry = Registry::open(&fixture.record().await).await.expect("a registry");
    let key = fixture.stack.operator().await.api_key(AGENT).await;
    let page = fixture.stack.http_client().with("x-api-key", &key.secret).in_session().await;
    let now = Timestamp(Clock::System.now_nanos());
    let tokens = [
        expiring(fixture, &registry, now.after(HALF_HOUR)).await,
        expiring(fixture, &registry, now.before(HALF_HOUR)).await,
    ];
    let clocks = [writer, &gateway, &projector];
    let mut scene = Scene { fixture, clocks, library, registry, page, tokens, revoked: Vec::new() };
    scene.revoke("first").await;
    for offset in OFFSETS {
        for clock in scene.clocks {
            clock.set(offset);
        }
        scene.revoke(&format!("at-{offset}")).await;
        scene.check_tokens(offset).await;
        scene.check_turn(offset).await;
        scene.check_documents(offset).await;
        scene.check_archive(offset).await;
        scene.check_quota(offset).await;
        scene.check_retention(offset).await;
        scene.check_logged_calls(offset).await;
    }
    let (strikes, findings) = (OFFSETS.len().to_string(), "0".to_owned());
    let besides =
        "checked each time: tokens, a revocation, a turn, documents, the archive, a quota, retention, logged calls";
    add(TITLE, Row { strikes, findings, besides: besides.to_owned(), ..Row::default() });
}

/// A conversation, documents and a logged call, all younger than any rule allows for, and a document that has expired.
async fn prepare(fixture: &Fixture) {
    let operator = fixture.stack.operator().await;
    let settings = proto::AgentSettings {
        retention: Some(proto::RetentionSettings {
            idle_seconds_max: HALF_HOUR.as_secs(),
            ..proto::RetentionSettings::default()
        }),
        provider_logs: Some(proto::ProviderLogSettings {
            detail: proto::ProviderLogDetail::Facts.into(),
            days: LOG_DAYS,
        }),
        ..echo()
    };
    operator.settings(AGENT, settings).await;
    fixture.agent.create(IDLE).await;
    let logged = fixture.agent.log_request(IDLE, &Uuid::now_v7().to_string());
    eventually("a logged call", || async { fixture.agent.try_log(logged.clone()).await.ok()?.then_some(()) }).await;
    for (name, ttl_seconds) in [("lasting", HALF_HOUR.as_secs()), ("short", 1)] {
        let request = document::PutDocumentRequest {
            scope: Some(scope()),
            namespace: vec![name.to_owned()],
            key: name.to_owned(),
            value_json: "1".to_owned(),
            ttl_seconds,
            ..document::PutDocumentRequest::default()
        };
        fixture.agent.caller().documents().put_document(request).await.expect("a document");
    }
    eventually("an expired document", || async { (!has_document(&fixture.agent, "short").await).then_some(()) }).await;
    operator.agent(OTHER_TENANT, "other").await;
    let quotas = proto::Quotas {
        tenant: Some(proto::QuotaLimits {
            appended_bytes_per_minute: Some(BYTES_PER_MINUTE),
            ..proto::QuotaLimits::default()
        }),
        ..proto::Quotas::default()
    };
    let request =
        proto::SetTenantQuotasRequest { tenant_id: OTHER_TENANT.to_owned(), quotas: Some(quotas), update_mask: None };
    operator.registry().set_tenant_quotas(request).await.expect("quotas");
}

fn scope() -> document::DocumentScope {
    document::DocumentScope { agent_id: AGENT.to_owned(), kind: None }
}

async fn has_document(agent: &Agent, name: &str) -> bool {
    let request =
        document::GetDocumentRequest { scope: Some(scope()), namespace: vec![name.to_owned()], key: name.to_owned() };
    let answer = agent.caller().documents().get_document(request).await;
    answer.expect("an answer").into_inner().document.is_some()
}

/// A caller whose token expires at a time.
async fn expiring(fixture: &Fixture, registry: &Registry, expires_at: Timestamp) -> Agent {
    let new = NewServiceToken {
        display_name: Label::parse("a test").expect("a label"),
        scopes: Scopes::from_iter([Scope::Read, Scope::Append]),
        tenant: TenantId::parse(TENANT).ok(),
        agents: [].into(),
        expires_at: Some(expires_at),
    };
    let (_, secret) = registry.create_service_token(new, Timestamp(0)).await.expect("a token");
    Agent::new(fixture.agent.caller().with_token(secret.reveal()), AGENT)
}

impl Scene<'_> {
    /// Revokes a token through the writer with the wrong clock. All earlier revocations stay.
    async fn revoke(&mut self, token: &str) {
        let operator = self.fixture.stack.operator().await;
        let request = proto::RevokeTokenRequest {
            tenant_id: TENANT.to_owned(),
            token_id: token.to_owned(),
            ..proto::RevokeTokenRequest::default()
        };
        let revoked = operator.registry().revoke_token(request).await.expect("a revocation").into_inner();
        let kept_s = revoked.kept_until.expect("a time").seconds - now_s();
        assert!((86_400..2 * 86_400).contains(&kept_s), "{token} is kept for {kept_s} s");
        self.revoked.push(token.to_owned());
        let tenant = TenantId::parse(TENANT).expect("an id");
        eventually("all revocations", || async {
            let known = self.registry.token_rules(&tenant).revoked;
            self.revoked.iter().all(|id| known.contains(&token_id_digest(id))).then_some(())
        })
        .await;
    }

    /// Tokens expire by the time of the record, at the gateway and at the writer.
    async fn check_tokens(&self, offset: i64) {
        let [valid, expired] = &self.tokens;
        valid.try_get(valid.read_target(IDLE)).await.expect("a valid token");
        let refused = expired.try_get(expired.read_target(IDLE)).await.expect_err("an expired token");
        assert_eq!(refused.code(), Unauthenticated, "{offset} s");
        valid.append(&self.conversation("tokens", offset).await, vec![user("hello")]).await;
        let refused = expired.try_append(expired.append_request(IDLE, vec![user("hello")])).await;
        assert_eq!(refused.expect_err("an expired token").code(), Unauthenticated, "{offset} s");
    }

    async fn conversation(&self, name: &str, offset: i64) -> String {
        let conversation = format!("{name}-{offset}");
        self.fixture.agent.create(&conversation).await;
        conversation
    }

    /// The gateway makes the key and the id of a run itself, and issued the session.
    async fn check_turn(&self, offset: i64) {
        let chat = self.page.post("/api/chats", &json!({})).await.ok(201);
        let path = format!("/api/chats/{}/messages", chat["id"].as_str().expect("an id"));
        let answer = self.page.post(&path, &json!({"content": "hello"})).await;
        assert_eq!(answer.status, 200, "{offset} s: {:?}", answer.body);
    }

    async fn check_documents(&self, offset: i64) {
        for (name, expected) in [("lasting", true), ("short", false)] {
            assert_eq!(has_document(&self.fixture.agent, name).await, expected, "{name}, {offset} s");
        }
    }

    /// No conversation is an hour old.
    async fn check_archive(&self, offset: i64) {
        let servers = &self.fixture.stack.servers;
        let mut variables = vec![
            ("HANSARD_RECORD__NATS_URL".to_owned(), servers.nats().url()),
            ("HANSARD_READ_MODEL__DATABASE_URL".to_owned(), servers.database_url().to_owned()),
        ];
        variables.extend(self.clocks[0].variables(self.library));
        let run = "archive run --older-than 1h --to file:///nowhere --hibernate --dry-run --json";
        let ended = tests::program!().run(run.split(' '), &variables).await;
        let plan: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
        assert_eq!(plan["conversations"], 0, "{offset} s");
    }

    /// A bucket that is empty is refilled, also after the clock was set back.
    async fn check_quota(&self, offset: i64) {
        let other = Agent::new(self.fixture.agent.caller().with_token(self.fixture.stack.token().await), "other");
        let conversation = format!("quota-{offset}");
        eventually("a bucket with room", || async { other.try_create(other.create_request(&conversation)).await.ok() })
            .await;
        let random: String = (0..LARGE_BYTES / 16).map(|_| Uuid::new_v4().simple().to_string()).collect();
        loop {
            match other.try_append(other.append_request(&conversation, vec![user(random.clone())])).await {
                Ok(_) => {}
                Err(refused) if refused.code() == ResourceExhausted => break,
                Err(other) => panic!("{offset} s: {other}"),
            }
        }
    }

    /// Rounds of retention erase nothing that is younger than their rule.
    async fn check_retention(&self, offset: i64) {
        let rounds = async || {
            let page = admin::get(self.fixture.stack.gateway.admin_addr(), "/metrics").await.ok()?.body;
            let is_round = |line: &&str| line.starts_with("hansard_gateway_retention_rounds_total{");
            let counts = page.lines().filter(is_round).filter(|line| line.contains("outcome=\"ok\""));
            counts.map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum::<Option<u64>>()
        };
        let before = rounds().await.unwrap_or_default();
        eventually("rounds of retention", || async { (rounds().await? >= before + ROUNDS).then_some(()) }).await;
        let idle = self.fixture.agent.try_get(self.fixture.agent.read_target(IDLE)).await;
        idle.unwrap_or_else(|error| panic!("{offset} s: {error}"));
    }

    /// A call that was kept for its days is deleted, a younger one is not.
    async fn check_logged_calls(&mut self, offset: i64) {
        let (psql, url) = self.fixture.psql();
        let counts = async || {
            let count = "SELECT json_build_object('past', count(*) FILTER (WHERE kept_until <= now()),
                             'kept', count(*) FILTER (WHERE kept_until > now())) FROM hansard.provider_log";
            let rows = tests::checker::query(&psql, &url, count).await.ok()?;
            Some((rows[0]["past"].as_u64()?, rows[0]["kept"].as_u64()?))
        };
        let (_, kept) = eventually("a logged call", || async { counts().await.filter(|(_, kept)| *kept > 0) }).await;
        let past = Uuid::now_v7();
        self.fixture
            .query(&format!(
                "INSERT INTO hansard.provider_log SELECT (jsonb_populate_record(log, jsonb_build_object(
                     'log_id', '{past}', 'kept_until', now() - interval '1 minute'))).*
                 FROM hansard.provider_log AS log WHERE kept_until > now() LIMIT 1"
            ))
            .await;
        let (_, left) =
            eventually("the deletion of an old call", || async { counts().await.filter(|(past, _)| *past == 0) }).await;
        assert!(left >= kept, "{offset} s: {left} of {kept} calls");
    }
}

fn now_s() -> i64 {
    Timestamp(Clock::System.now_nanos()).seconds()
}
