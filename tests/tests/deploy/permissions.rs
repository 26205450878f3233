//! Each role with its own credentials: the whole system works, and only a writer can change the record.

use domain::{Partition, TenantAccess, TenantId};
use event_log::{Record, RecordConfig};
use read_model::ReadModel;
use read_model::queries::{ProviderLogQuery, provider_logs};
use serde_json::json;
use tests::agent::Agent;
use tests::events::user;
use tests::eventually::{eventually, within};
use tests::http_client::HttpClient;
use tests::operator::Operator;
use tests::program;
use tests::settings::{self, Role};
use tests::stack::Stack;
use wire::proto::operate::v1 as proto;
use wire::proto::read::v1::ReadTarget;

use tests::nats_accounts;
use tests::raw_nats::RawNats;

/// A client of another gateway than the writing one.
async fn other_gateway(stack: &Stack) -> (tests::node::Node, HttpClient) {
    let mut node = stack.another(Role::Gateway);
    nats_accounts::guard(&mut node, &settings::record(&stack.servers));
    node.settings.gateway.writer_url = stack.writer.grpc_url();
    node.start().await;
    let client = stack.http_client().with_addr(node.settings.gateway.http.server.addr);
    (node, client)
}

/// Reads rows, the tail without a projector, and live events of a new chat.
pub(super) async fn append_and_read(stack: &mut Stack, agent: &Agent, chat: &str) {
    agent.append(chat, vec![user("one")]).await;
    agent.wait_for_rows(chat, 2).await;
    assert_eq!(agent.context(chat, 5).await.messages.len(), 1);
    stack.projector.stop().await;
    let request = agent.watch_request(chat, 3);
    let mut watch = agent.caller().read().watch_conversation(request).await.expect("a watch").into_inner();
    let written = agent.append(chat, vec![user("two")]).await;
    let seen = within("a watched commit", watch.message()).await;
    assert!(seen.expect("an item").is_some());
    // With its token, because another server than the storing one may answer.
    let target = ReadTarget { position_token: written.position_token, ..agent.read_target(chat) };
    let context = agent.try_context(target, 5).await.expect("a context");
    assert_eq!(context.messages.len(), 2);
    stack.projector.start().await;
    agent.wait_for_rows(chat, 3).await;
}

/// Waits until the log's rows contain a call of a model server.
async fn wait_for_logged_call(stack: &Stack) {
    let model = ReadModel::connect_lazy(&stack.projector.settings.projector.read_model).expect("a read model");
    let access = TenantAccess::grant(TenantId::parse("acme").expect("an id"));
    let query = ProviderLogQuery { limit: 1, ..ProviderLogQuery::default() };
    eventually("a logged call", || async {
        let rows = provider_logs(&model, &access, &query).await.ok()?;
        (!rows.is_empty()).then_some(())
    })
    .await;
}

/// Creates a chat, gets an answer, reads it from another gateway, and erases it.
async fn chat_and_erase(stack: &Stack, operator: &Operator, agent: &Agent) {
    let settings = proto::AgentSettings {
        model: Some(proto::ModelSettings {
            server: "echo".to_owned(),
            model: "echo".to_owned(),
            ..proto::ModelSettings::default()
        }),
        provider_logs: Some(proto::ProviderLogSettings { detail: proto::ProviderLogDetail::Bodies.into(), days: 1 }),
        ..proto::AgentSettings::default()
    };
    operator.settings(agent.id(), settings).await;
    let key = operator.api_key(agent.id()).await;
    let client = stack.http_client().with("x-api-key", &key.secret).in_session().await;
    let with_credentials =
        |other: &HttpClient| other.with("x-api-key", &key.secret).with("x-session-id", client.session_id());
    let chat = client.post("/api/chats", &json!({})).await.ok(201);
    let chat = format!("/api/chats/{}", chat["id"].as_str().expect("an id"));
    let message = json!({"content": "hello there"});
    let heard = client.post(&format!("{chat}/messages"), &message).await;
    assert!(String::from_utf8_lossy(&heard.body).contains("hello"));
    wait_for_logged_call(stack).await;
    let (mut other, other_client) = other_gateway(stack).await;
    let shown = with_credentials(&other_client).get(&chat).await.ok(200);
    assert!(shown.to_string().contains("echo: hello there"), "{shown}");
    client.erase(&chat).await;
    assert_eq!(with_credentials(&other_client).get(&chat).await.status, 404);
    other.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_role_can_do_its_work() {
    let mut stack = nats_accounts::prepare(program!()).await;
    Box::pin(stack.start()).await;
    let operator = stack.operator().await;
    let agent = operator.agent("acme", "support").await;
    agent.create("c").await;
    Box::pin(append_and_read(&mut stack, &agent, "c")).await;
    Box::pin(chat_and_erase(&stack, &operator, &agent)).await;
    assert_eq!(nats_accounts::violations(stack.servers.nats()), Vec::<String>::new());
}

/// Subjects that only a writer may publish to, in every account.
const EVIL: [&str; 12] = [
    "hansard.0.acme.c",
    "hansard-archive.0.x",
    "hansard_parts.0.acme.c.r",
    "hansard_logs.acme.c",
    "hansard_erasures.acme.c",
    "$KV.HANSARD_registry.service_token.x",
    "live.hansard.0.acme.c",
    "$JS.API.STREAM.PURGE.HANSARD_0",
    "RECORD.API.STREAM.PURGE.HANSARD_0",
    "RECORD.API.STREAM.DELETE.HANSARD_0",
    "RECORD.API.STREAM.MSG.DELETE.HANSARD_0",
    "_INBOX.of.another",
];
/// Subjects of the other accounts.
const NO_GATEWAY: [&str; 2] = ["RECORD.API.CONSUMER.CREATE.HANSARD_0", "RECORD.API.CONSUMER.MSG.NEXT.HANSARD_0.x"];
const NO_PROJECTOR: [&str; 4] = [
    "RECORD.API.CONSUMER.CREATE.KV_HANSARD_registry",
    "RECORD.API.CONSUMER.MSG.NEXT.KV_HANSARD_registry.x",
    "RECORD.API.STREAM.MSG.GET.KV_HANSARD_registry",
    "RECORD.API.DIRECT.GET.KV_HANSARD_registry",
];
/// A commit under its subject, which a projector reads when it retries parked conversations.
const PARKED_READ: &str = "RECORD.API.DIRECT.GET.HANSARD_0";
const NO_WRITER: [&str; 10] = [
    "hansard-archive.0.x",
    "hansard-layout.partitions",
    "$JS.API.STREAM.MSG.DELETE.HANSARD_ARCHIVE",
    "$JS.API.STREAM.MSG.DELETE.HANSARD_LAYOUT",
    "$JS.API.STREAM.DELETE.HANSARD_0",
    "$JS.API.STREAM.UPDATE.HANSARD_0",
    "$JS.API.STREAM.PURGE.HANSARD_0",
    "$JS.API.STREAM.MSG.DELETE.KV_HANSARD_registry",
    "$JS.API.CONSUMER.CREATE.HANSARD_0",
    "live.hansard.0.acme.c",
];

async fn check_refused(stack: &Stack, user: &str, subjects: &[&str]) {
    let url = stack.servers.nats().url();
    let mut thief = RawNats::connect(&url, user, &nats_accounts::password(user)).await;
    for subject in subjects {
        let errors = thief.publish(subject, "_INBOX.x", "{}").await;
        assert_eq!(errors.len(), 1, "{user} publishes to {subject}");
    }
    let heard = thief.subscribe("hansard.>").await;
    assert_eq!(heard.len(), 1, "{user} subscribes");
}

/// Makes the server publish to `hansard.1.x.x` as the reply to a request; returns by how much the partition grew.
async fn reply_into_the_record(stack: &Stack, record: &Record, user: &str, request: &str) -> u64 {
    let last = async || record.bounds_of(Partition(1)).await.expect("bounds").last.0;
    let before = last().await;
    let url = stack.servers.nats().url();
    let mut thief = RawNats::connect(&url, user, &nats_accounts::password(user)).await;
    let errors = thief.publish(request, "hansard.1.x.x", "").await;
    assert_eq!(errors, Vec::<String>::new(), "{user} asks {request}");
    // The server answers requests of one connection in order.
    thief.subscribe("_INBOX.x").await;
    thief.publish(request, "_INBOX.x", "").await;
    last().await - before
}

#[tokio::test(flavor = "multi_thread")]
async fn only_writers_can_change_the_record() {
    let mut stack = nats_accounts::prepare(program!()).await;
    stack.writer.start().await;
    let record = nats_accounts::record(&stack).await;
    check_refused(&stack, "gateway", &[&EVIL[..], &NO_GATEWAY].concat()).await;
    check_refused(&stack, "projector", &[&EVIL[..], &NO_PROJECTOR].concat()).await;
    check_refused(&stack, "writer", &NO_WRITER).await;
    assert_eq!(reply_into_the_record(&stack, &record, "projector", PARKED_READ).await, 0);
    let info = "STREAM.INFO.HANSARD_0";
    for user in ["gateway", "projector"] {
        let request = format!("RECORD.API.{info}");
        assert_eq!(reply_into_the_record(&stack, &record, user, &request).await, 0, "{user}");
    }
    // The same request in the record's own account changes the record: so the account permissions protect it.
    let request = format!("$JS.API.{info}");
    reply_into_the_record(&stack, &record, "writer", &request).await;
    let record = &record;
    eventually("a reply that was stored", || async move {
        let bounds = record.bounds_of(Partition(1)).await.ok()?;
        (bounds.last.0 == 1).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_need_a_password() {
    let mut stack = nats_accounts::prepare(program!()).await;
    stack.writer.start().await;
    let plain = settings::record(&stack.servers);
    let address = plain.nats_url.replace("nats://", "");
    for user in ["", "writer:wrong@", "nobody:wrong@", "wrong@"] {
        let config = RecordConfig { nats_url: format!("nats://{user}{address}"), ..plain.clone() };
        let refused = Record::open(config).await.expect_err("a refusal");
        let text = format!("{refused} {refused:?}");
        assert!(!text.contains("wrong"), "{text}");
    }
}
