//! Rows that are being made where the segments cannot be reached: no shorter history, and no second answer.

use read_model::ReadModelConfig;
use tests::agent::Agent;
use tests::client::Caller;
use tests::events::user;
use tests::eventually::eventually;
use tests::node::Node;
use tests::settings::Role;
use tonic::Code;
use wire::proto::write::v1 as write;

use crate::ground::Ground;
use crate::old::Old;

/// Roles over an empty database.
struct Elsewhere {
    projector: Node,
    _writer: Node,
    _gateway: Node,
    agent: Agent,
}

/// Starts them; the projector looks for segments where there are none.
async fn elsewhere(ground: &Ground, url: &str) -> Elsewhere {
    let rows = ReadModelConfig::new(url.to_owned());
    let mut projector = ground.stack.another(Role::Projector);
    projector.settings.projector.read_model = rows.clone();
    "file:///nowhere/at/all".clone_into(&mut projector.settings.projector.archive_url);
    projector.start().await;
    let mut writer = ground.stack.another(Role::Writer);
    writer.settings.writer.read_model = rows.clone();
    writer.start().await;
    let mut gateway = ground.stack.another(Role::Gateway);
    gateway.settings.gateway.read_model = rows;
    gateway.settings.gateway.writer_url = writer.grpc_url();
    gateway.start().await;
    let token = ground.token().await;
    let caller = Caller::new(&writer.grpc_url(), &gateway.grpc_url(), &token);
    Elsewhere {
        agent: Agent::new(caller, ground.agent.id()),
        projector,
        _writer: writer,
        _gateway: gateway,
    }
}

async fn retry(agent: &Agent, old: &Old, text: &str) -> tonic::Status {
    let request = write::AppendEventsRequest {
        target: Some(write::CommandTarget {
            idempotency_key: old.commits[2].to_string(),
            ..agent.target(old.id())
        }),
        events: vec![user(text)],
    };
    agent.try_append(request).await.expect_err("a used key")
}

#[tokio::test]
async fn what_only_the_archive_has_is_unavailable_until_it_is_there() {
    let ground = Ground::start().await;
    let old = ground.fill(3, 12).await.remove(1);
    let texts = ground.texts(old.id()).await;
    ground.archive().await;
    let empty = devstack::test::database().await;
    let mut elsewhere = elsewhere(&ground, &empty.url).await;
    let agent = &elsewhere.agent;
    let what = "the conversation that cannot be read yet";
    eventually(what, || async {
        let read = agent.try_events(agent.list_request(old.id())).await;
        (read.expect_err("no shorter history").code() == Code::Unavailable).then_some(())
    })
    .await;
    let refused = retry(agent, &old, "again").await;
    assert_eq!(refused.code(), Code::Unavailable, "{refused:?}");
    // What no row is needed for goes on.
    agent.append(old.id(), vec![user("more")]).await;

    elsewhere.projector.stop().await;
    elsewhere.projector.settings.projector.archive_url.clear();
    elsewhere.projector.start().await;
    ground.projected(&empty.url).await;
    let agent = &elsewhere.agent;
    let events = agent.events(agent.list_request(old.id())).await;
    assert_eq!(events.len(), texts.len() + 2);
    let refused = retry(agent, &old, "again").await;
    assert_ne!(refused.code(), Code::Unavailable, "{refused:?}");
    let line = format!("verify --json --database-url {}", empty.url);
    assert_eq!(ground.summary(&line).await["differing"], 0);
}
