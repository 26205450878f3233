//! A fork without its parent cannot be read: it looks erased.

use domain::{ConversationId, ConversationKey, Partition, Status, TenantId};
use event_log::Record;
use tests::agent::Agent;
use tests::errors::check_failure;
use tests::events::user;
use tests::settings::{self, Role};
use tests::stack::Setup;
use tonic::Code;
use wire::proto::read::v1::{AssembleContextRequest, ContextFormat};

use super::{erasure_races, fork, try_fork};

const GONE: (Code, &str, &str) = (Code::NotFound, "CONVERSATION_NOT_FOUND", "");

#[tokio::test(flavor = "multi_thread")]
async fn forks_are_unreadable_after_the_erasure_of_the_parent() {
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
        agent.wait_for_rows(id, version).await;
        // The gateway knows the lineage from now on.
        let events = agent.events(agent.list_request(id)).await;
        assert_eq!(u64::try_from(events.len()), Ok(version), "{id}");
    }
    let record = Record::open(settings::record(&stack.servers)).await.expect("a record");
    erasure_races::is_refused(&agent, &record, "root", &["beside", "one", "two"]).await;
    erasure_races::is_refused(&agent, &record, "one", &["two"]).await;
    // The middle one is erased: its fork becomes unreadable, also before projection; its parent and unrelated forks
    // stay.
    for rows_are_behind in [true, false] {
        if rows_are_behind {
            stack.projector.stop().await;
            fork(&agent, "unknown", "beside", 2).await;
            erasure_races::is_undecided(&agent, &record, "beside").await;
            agent.try_erase(agent.target("one")).await.expect("erased");
        } else {
            stack.projector.start().await;
            agent.wait_for_rows("root", 2).await;
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

/// Rounds of a race between a fork and an erasure of its parent.
const TRIALS: usize = 150;

/// A name with this prefix in the first partition, so that the sequences of two conversations show their order.
fn in_first_partition(tenant: &TenantId, name: &str) -> ConversationId {
    let mut ids = (0..).map(|n| ConversationId::parse(format!("{name}-{n}")).expect("an id"));
    let is_first = |id: &ConversationId| Partition::of(tenant, id, 8) == Partition(0);
    ids.find(is_first).expect("an id")
}

#[tokio::test(flavor = "multi_thread")]
async fn forks_after_the_tombstone_of_the_parent_are_rejected() {
    let stack = Setup::tasks().start().await;
    let agent = stack.agent("acme", "support").await;
    let mut second = stack.another(Role::Writer);
    second.start().await;
    let caller = agent.caller().with_writer(&second.grpc_url());
    let other = Agent::new(caller, agent.id());
    let record = Record::open(settings::record(&stack.servers)).await.expect("a record");
    let tenant = TenantId::parse("acme").expect("an id");
    let last = async |conversation: ConversationId| {
        let key = ConversationKey { tenant: tenant.clone(), conversation };
        let last = record.last_from_leader(&key).await.expect("an answer")?;
        let head = last.open_head().expect("a head");
        Some((last.position.sequence, head.status))
    };
    let (mut acknowledged, mut refused) = (0, 0);
    for trial in 0..TRIALS {
        let parent = in_first_partition(&tenant, &format!("parent-{trial}"));
        let child = in_first_partition(&tenant, &format!("child-{trial}"));
        agent.create(parent.as_str()).await;
        let forking = try_fork(&agent, child.as_str(), parent.as_str(), 1);
        let erasing = other.try_erase(other.target(parent.as_str()));
        let (forked, erased) = tokio::join!(forking, erasing);
        erased.expect("an erasure");
        let tombstone = last(parent).await.expect("a tombstone");
        let fork = last(child).await;
        if forked.is_ok() {
            acknowledged += 1;
            let (at, status) = fork.expect("a fork");
            assert!(at < tombstone.0 && status == Status::Active, "{trial}");
        } else {
            refused += 1;
            check_failure("a fork", forked, (Code::NotFound, "FORK_POINT_NOT_FOUND", "forked_from"));
            assert!(fork.is_none_or(|(_, status)| status == Status::Erased), "{trial}");
        }
    }
    assert_eq!(acknowledged + refused, TRIALS);
    erasure_races::race([&agent, &other], &record).await;
    second.stop().await;
}
