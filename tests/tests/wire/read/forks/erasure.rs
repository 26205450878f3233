//! A fork without what it goes on from cannot be read: it looks like an erased one.

use tests::errors::check_failure;
use tests::events::user;
use tests::stack::Setup;
use tonic::Code;
use wire::proto::read::v1::{AssembleContextRequest, ContextFormat};

use super::fork;

const GONE: (Code, &str, &str) = (Code::NotFound, "CONVERSATION_NOT_FOUND", "");

#[tokio::test(flavor = "multi_thread")]
async fn every_read_of_a_fork_ends_with_its_parent() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("root").await;
    agent.append("root", vec![user("2")]).await;
    fork(&agent, "one", "root", 2).await;
    agent.append("one", vec![user("4")]).await;
    fork(&agent, "two", "one", 4).await;
    agent.append("two", vec![user("6")]).await;
    fork(&agent, "beside", "root", 1).await;
    for (id, version) in [("one", 4), ("two", 6), ("beside", 2)] {
        agent.projected(id, version).await;
    }
    // The middle one goes: its fork goes with it, whatever the rows say; its parent, and who shares nothing of it, stay.
    for rows_are_behind in [true, false] {
        if rows_are_behind {
            stack.projector.stop().await;
            agent.try_erase(agent.target("one")).await.expect("erased");
        } else {
            stack.projector.start().await;
            agent.projected("root", 2).await;
        }
        for id in ["one", "two"] {
            let target = || agent.read_target(id);
            check_failure(id, agent.try_get(target()).await, GONE);
            check_failure(id, agent.try_events(agent.list_request(id)).await, GONE);
            check_failure(id, agent.try_context(target(), 1).await, GONE);
            let request = AssembleContextRequest {
                target: Some(target()),
                format: ContextFormat::Canonical.into(),
                ..AssembleContextRequest::default()
            };
            let made = agent.caller().read().assemble_context(request).await;
            check_failure(id, made, GONE);
            let watch = agent.watch_request(id, 1);
            let watched = agent.caller().read().watch_conversation(watch).await;
            check_failure(id, watched, GONE);
        }
        for (id, events) in [("root", 2), ("beside", 2)] {
            assert_eq!(agent.events(agent.list_request(id)).await.len(), events);
        }
    }
    tests::eventually::eventually("an erased row", || async {
        agent.try_get(agent.eventual_target("two")).await.err()
    })
    .await;
}
