//! Storage: the sums match the rows after writes, erasures and migrations.

use domain::{AgentId, Fact, Lifecycle, Owner, UserId};
use read_model::projections::conversations::Item;
use read_model::projections::conversations::parking::{self, RetryOutcome};
use read_model::queries::{Storage, StorageScope, storage};

use crate::fixture::{Author, Projection, access, execute, message};

/// Restores the schema before the migration of storage.
const BEFORE_STORAGE: &str = "
    DROP FUNCTION hansard.sum_storage() CASCADE;
    DROP TABLE conversations_v1.storage;
    ALTER TABLE conversations_v1.conversation DROP COLUMN stored_bytes;
    DROP SCHEMA search_v1 CASCADE;
    DROP FUNCTION hansard.set_search_agents(text[], text[], boolean[], text[]);
    DROP TABLE conversations_v1.run_day;
    DROP TABLE conversations_v1.document;
    DROP FUNCTION hansard.live_schema, hansard.live_projectors, hansard.partitions_overview, hansard.parked_conversations;
    DROP FUNCTION hansard.request_parked;
    DROP TABLE hansard.parked_request;
    DROP FUNCTION hansard.shard_tenants;
    DROP TABLE hansard.shard_tenant;
    DROP INDEX conversations_v1.conversation_by_name, conversations_v1.conversation_empty;
    DROP TABLE hansard.usage_correction;
    ALTER TABLE hansard.model_usage DROP COLUMN corrections;
    ALTER TABLE conversations_v1.checkpoint
        DROP COLUMN commit_sequence, DROP COLUMN commit_id, DROP COLUMN record_id, DROP COLUMN chain;
    ALTER TABLE hansard.migration DROP COLUMN floor;
    DELETE FROM hansard.migration WHERE version >= 14";

fn author(id: &str, agent: &str, user: Option<&str>) -> Author {
    let mut author = Author::new(id);
    author.created.agent = AgentId::parse(agent).unwrap();
    if let Some(user) = user {
        author.created.owner = Owner::User(UserId::parse(user).unwrap());
    }
    author
}

fn by_agent(author: &Author) -> StorageScope {
    StorageScope::Agent(author.created.agent.clone())
}

fn by_owner(author: &Author) -> StorageScope {
    StorageScope::Owner(author.created.agent.clone(), author.created.owner.clone())
}

/// The storage of a number of conversations with these commits.
fn stored(conversations: u64, items: &[&Item]) -> Storage {
    let bytes = |item: &&Item| match item {
        Item::Commit(commit) => {
            let events = commit.opened.event_bytes.iter();
            512 + events.map(|event| u64::try_from(event.len()).unwrap()).sum::<u64>()
        }
        Item::Unreadable { .. } => 0,
    };
    Storage { conversations, bytes: items.iter().map(bytes).sum() }
}

async fn check(projection: &Projection, expected: &[(StorageScope, Storage)]) {
    for (by, expected) in expected {
        let found = storage(&projection.model, &access("acme"), by).await;
        assert_eq!(found.as_ref(), Ok(expected), "{by:?}");
        let foreign = storage(&projection.model, &access("globex"), by).await;
        assert_eq!(foreign, Ok(Storage::default()), "{by:?}");
    }
}

#[tokio::test]
async fn storage_is_summed_by_tenant_agent_and_owner() {
    let url = devstack::test::database().await.url;
    let mut projection = Projection::at(&url).await;
    let mut one = author("one", "sales", Some("ada"));
    let mut two = author("two", "sales", None);
    let mut three = author("three", "support", Some("ada"));
    let begun = [one.begin(1), two.begin(2), three.begin(3)];
    projection.apply(begun.to_vec()).await;
    let said = [one.say(4, "x"), one.commit(5, vec![message("y"), message("z")])];
    projection.apply(said.to_vec()).await;
    let [first, second, third] = &begun;
    let [fourth, fifth] = &said;
    let all = [
        // An empty conversation of a session is none.
        (StorageScope::Tenant, stored(2, &[first, second, third, fourth, fifth])),
        (by_agent(&one), stored(1, &[first, second, fourth, fifth])),
        (by_owner(&one), stored(1, &[first, fourth, fifth])),
        (by_owner(&two), stored(0, &[second])),
        (by_agent(&three), stored(1, &[third])),
        (by_owner(&three), stored(1, &[third])),
    ];
    check(&projection, &all).await;

    // The migration computes the same sums from existing rows.
    execute(&url, BEFORE_STORAGE).await;
    projection.model.migrate().await.unwrap();
    check(&projection, &all).await;

    let more = two.say(6, "after the migration");
    projection.apply(vec![more.clone()]).await;
    let erased = one.commit(7, vec![Fact::Lifecycle(Lifecycle::ConversationErased)]);
    projection.apply(vec![erased]).await;
    let left = [
        (StorageScope::Tenant, stored(2, &[second, third, &more])),
        (by_agent(&one), stored(1, &[second, &more])),
        (by_owner(&one), Storage::default()),
        (by_owner(&two), stored(1, &[second, &more])),
    ];
    check(&projection, &left).await;
}

#[tokio::test]
async fn parked_commits_count_when_they_are_written() {
    let mut projection = Projection::new().await;
    let mut author = author("c", "sales", None);
    let begun = author.begin(1);
    let garbage = author.garbage(2);
    let waits = author.say(3, "waits");
    projection.apply(vec![begun.clone(), garbage, waits.clone()]).await;
    check(&projection, &[(StorageScope::Tenant, stored(0, &[&begun]))]).await;
    let (model, key) = (&projection.model, &author.key);
    let dropped = parking::drop_commit(model, key, domain::Sequence(2)).await;
    assert_eq!(dropped, Ok(true));
    let retried = parking::retry(model, key, std::slice::from_ref(&waits)).await;
    assert_eq!(retried, Ok(RetryOutcome::Freed));
    check(&projection, &[(StorageScope::Tenant, stored(1, &[&begun, &waits]))]).await;
}
