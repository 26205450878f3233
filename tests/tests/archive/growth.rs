//! Conversations that go on after they were archived, and grow old again.

use domain::Sequence;
use event_log::TailBounds;

use crate::ground::Ground;
use crate::old::Old;

#[tokio::test]
async fn a_conversation_that_grows_old_again_goes_into_further_segments() {
    let ground = Ground::start().await;
    let mut one = Old::named("grows").chat(&ground.record, 8).await;
    let url = ground.stack.servers.database_url();
    ground.projected(url).await;
    ground.archive().await;
    let mut told = Vec::new();
    for (days, text) in [(99, "nine"), (98, "ten"), (97, "eleven"), (10, "twelve")] {
        one.say(&ground.record, days, text).await;
        told.push(ground.commits("grows").await);
        ground.projected(url).await;
        let run = ground.archive().await;
        told.push(run["commits"].as_u64().unwrap());
    }
    // Each run takes what was the last before; the last of all is too young.
    assert_eq!(told, [2, 1, 2, 1, 2, 1, 2, 0]);
    assert_eq!(ground.lines("archive list --json", 0).await.len(), 4);
    let tail = ground
        .record
        .tail(&one.key, Sequence(0), TailBounds::default());
    assert_eq!(tail.await.unwrap().commits.len(), 2);
    let texts = ground.texts("grows").await;
    assert_eq!(texts.len(), 12);
    ground.run("archive verify", 0).await;
    ground.verify().await;
    ground.run("rebuild conversations", 0).await;
    ground.verify().await;
    assert_eq!(ground.texts("grows").await, texts);
}
