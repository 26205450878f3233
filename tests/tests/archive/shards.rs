//! An archive run over two databases: the rows of each tenant say which of its conversations are idle.

use domain::TenantId;
use tests::events::user;
use tests::shards::{self, shard};

use crate::fixture::{Fixture, TENANT};
use crate::old_conversations::OldConversation;

const MESSAGES: usize = 10;

#[tokio::test(flavor = "multi_thread")]
async fn each_conversation_is_archived_by_the_rows_of_its_tenant() {
    let server = devstack::test::database().await;
    let (stack, _projector) = shards::start(shard(&server.url, &[TENANT])).await;
    let fixture = Fixture::of(stack).await;
    let mut other = OldConversation::new("other");
    other.key.tenant = TenantId::parse("other").unwrap();
    other.chat(&fixture.record, MESSAGES).await;
    fixture.fill(2, MESSAGES).await;
    fixture.wait_for_rows(&server.url).await;

    let of_shard = format!("--database-url {}", server.url);
    let rejected = fixture.run(&fixture.archiving(&of_shard), 2).await;
    let advice = "the database is a shard: give the URL of the first database with --database-url";
    assert!(rejected.stderr.contains(advice), "{rejected:?}");
    let sweep = format!("archive sweep {of_shard}");
    assert!(fixture.run(&sweep, 2).await.stderr.contains(advice));
    let first = format!("--shard-url {}", fixture.stack.servers.database_url());
    let rejected = fixture.run(&fixture.archiving(&first), 2).await;
    assert!(rejected.stderr.contains("names a database that is no shard"), "{rejected:?}");
    assert_eq!(fixture.archived().await, 0, "nothing is archived yet");

    let run = fixture.run(&fixture.archiving(""), 0).await;
    let warning = "the conversations of 1 tenants are not archived: give the URLs of their shards";
    assert!(run.stderr.contains(warning), "{run:?}");
    let commits = |count: usize| u64::try_from(count * MESSAGES).unwrap();
    assert_eq!(fixture.archived().await, commits(1), "those of the other tenant");
    let both = format!("--shard-url {}", server.url);
    fixture.run(&fixture.hibernation(&both), 0).await;
    // The creations, and the messages, of three conversations.
    assert_eq!(fixture.archived().await, commits(3) + 3);
    let rows = [("", 1), (of_shard.as_str(), 2)];
    for (database, conversations) in rows {
        for command in ["rebuild conversations", "verify --json"] {
            fixture.run(&format!("{command} {database}"), 0).await;
        }
        let summary = fixture.summary(&format!("verify --json {database}")).await;
        assert!(summary["conversations"].as_u64().unwrap() >= conversations, "{summary}");
    }
    fixture.agent.append("old-0", vec![user("awake")]).await;
    assert_eq!(fixture.texts("old-0").await.len(), MESSAGES + 1);
}
