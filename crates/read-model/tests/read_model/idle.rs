//! Idle conversations.

use domain::{Fact, Lifecycle, Timestamp};
use read_model::projections::conversations::{ErasedConversations, idle_conversations};

use crate::fixture::{Author, Projection, START};

const SECOND: i64 = 1_000_000_000;

#[tokio::test]
async fn erased_and_parked_conversations_are_not_idle() {
    let mut projection = Projection::new().await;
    let [mut idle, mut young, mut erased, mut parked] = ["idle", "young", "erased", "parked"].map(Author::new);
    let unknown = Author::new("unknown");
    let items = vec![
        idle.begin(1),
        young.begin(2),
        erased.begin(3),
        parked.begin(4),
        idle.say(5, "a"),
        erased.commit(6, vec![Fact::Lifecycle(Lifecycle::ConversationErased)]),
        parked.garbage(7),
        young.say(60, "b"),
    ];
    projection.apply(items).await;
    let authors = [&idle, &young, &erased, &parked, &unknown];
    let keys: Vec<_> = authors.iter().map(|author| &author.key).collect();
    let check = async |seconds: i64, included, expected: &[(&str, u64)]| {
        let before = Timestamp(START.0 + seconds * SECOND);
        let rows = idle_conversations(&projection.model, &keys, before, included).await.unwrap();
        let found: Vec<_> = rows.iter().map(|row| (row.key.conversation.as_str(), row.position.sequence.0)).collect();
        assert_eq!(found, expected, "{seconds}");
    };
    let excluded = ErasedConversations::Excluded;
    check(5, excluded, &[]).await;
    check(6, excluded, &[("idle", 5)]).await;
    check(60, excluded, &[("idle", 5)]).await;
    check(61, excluded, &[("idle", 5), ("young", 60)]).await;
    let included = ErasedConversations::Included;
    check(6, included, &[("idle", 5)]).await;
    check(7, included, &[("erased", 6), ("idle", 5)]).await;
}
