//! A projector without access to the segments: reads return no shorter history, and retries no second answer.

use read_model::ReadModelConfig;
use tests::agent::Agent;
use tests::client::Caller;
use tests::events::user;
use tests::eventually::eventually;
use tests::node::Node;
use tests::settings::Role;
use tonic::Code;
use wire::proto::write::v1 as write;

use crate::fixture::Fixture;
use crate::old_conversations::OldConversation;

/// Roles over an empty database.
struct EmptyRoles {
    projector: Node,
    _writer: Node,
    _gateway: Node,
    agent: Agent,
}

/// Starts the roles; the projector has a wrong URL of the segments.
async fn start_roles(fixture: &Fixture, url: &str) -> EmptyRoles {
    let rows = ReadModelConfig::new(url.to_owned());
    let mut projector = fixture.stack.another(Role::Projector);
    projector.settings.projector.read_model = rows.clone();
    "file:///nowhere/at/all".clone_into(&mut projector.settings.projector.archive_url);
    projector.start().await;
    let mut writer = fixture.stack.another(Role::Writer);
    writer.settings.writer.read_model = rows.clone();
    writer.start().await;
    let mut gateway = fixture.stack.another(Role::Gateway);
    gateway.settings.gateway.read_model = rows.into();
    gateway.settings.gateway.writer_url = writer.grpc_url();
    gateway.start().await;
    let token = fixture.token().await;
    let caller = Caller::new(&writer.grpc_url(), &gateway.grpc_url(), &token);
    EmptyRoles { agent: Agent::new(caller, fixture.agent.id()), projector, _writer: writer, _gateway: gateway }
}

async fn retry(agent: &Agent, old: &OldConversation, text: &str) -> tonic::Status {
    let request = write::AppendEventsRequest {
        target: Some(write::CommandTarget { idempotency_key: old.commits[2].to_string(), ..agent.target(old.id()) }),
        events: vec![user(text)],
        ..write::AppendEventsRequest::default()
    };
    agent.try_append(request).await.expect_err("a used key")
}

#[tokio::test]
async fn archived_history_is_unavailable_without_its_segments() {
    let fixture = Fixture::start().await;
    let old = fixture.fill(3, 12).await.remove(1);
    let texts = fixture.texts(old.id()).await;
    fixture.archive().await;
    let empty = devstack::test::database().await;
    let mut roles = start_roles(&fixture, &empty.url).await;
    let agent = &roles.agent;
    let what = "the conversation that cannot be read yet";
    eventually(what, || async {
        let read = agent.try_events(agent.list_request(old.id())).await;
        (read.expect_err("no shorter history").code() == Code::Unavailable).then_some(())
    })
    .await;
    let refused = retry(agent, &old, "again").await;
    assert_eq!(refused.code(), Code::Unavailable, "{refused:?}");
    // Operations that need no row continue.
    agent.append(old.id(), vec![user("more")]).await;

    roles.projector.stop().await;
    roles.projector.settings.projector.archive_url.clear();
    roles.projector.start().await;
    fixture.wait_for_rows(&empty.url).await;
    let agent = &roles.agent;
    let events = agent.events(agent.list_request(old.id())).await;
    assert_eq!(events.len(), texts.len() + 2);
    let refused = retry(agent, &old, "again").await;
    assert_ne!(refused.code(), Code::Unavailable, "{refused:?}");
    let line = format!("verify --json --database-url {}", empty.url);
    assert_eq!(fixture.summary(&line).await["differing"], 0);
}
