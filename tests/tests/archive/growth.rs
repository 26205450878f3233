//! Conversations that continue after they were archived, and become old again.

use domain::Sequence;
use event_log::TailBounds;

use crate::fixture::Fixture;
use crate::old_conversations::OldConversation;

#[tokio::test]
async fn regrown_conversations_get_further_segments() {
    let fixture = Fixture::start().await;
    let mut one = OldConversation::new("grows").chat(&fixture.record, 8).await;
    let url = fixture.stack.servers.database_url();
    fixture.wait_for_rows(url).await;
    fixture.archive().await;
    let mut counts = Vec::new();
    for (days, text) in [(99, "nine"), (98, "ten"), (97, "eleven"), (10, "twelve")] {
        one.say(&fixture.record, days, text).await;
        counts.push(fixture.commits("grows").await);
        fixture.wait_for_rows(url).await;
        let run = fixture.archive().await;
        counts.push(run["commits"].as_u64().unwrap());
    }
    // Each run archives the previous last commit; the newest one is too young.
    assert_eq!(counts, [2, 1, 2, 1, 2, 1, 2, 0]);
    assert_eq!(fixture.lines("archive list --json", 0).await.len(), 4);
    let tail = fixture.record.tail(&one.key, Sequence(0), TailBounds::default());
    assert_eq!(tail.await.unwrap().commits.len(), 2);
    let texts = fixture.texts("grows").await;
    assert_eq!(texts.len(), 12);
    fixture.run("archive verify", 0).await;
    fixture.verify().await;
    fixture.run("rebuild conversations", 0).await;
    fixture.verify().await;
    assert_eq!(fixture.texts("grows").await, texts);
}
