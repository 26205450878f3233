//! The digest of each partition finds differences that lag does not show.

use crate::fixture::Fixture;

#[tokio::test(flavor = "multi_thread")]
async fn skipped_commits_are_found_without_lag() {
    let mut fixture = Fixture::start().await;
    for conversation in ["a", "b", "c", "d"] {
        fixture.create_conversation(conversation).await;
    }
    fixture.settle().await;
    fixture.stack.projector.stop().await;
    fixture.agent.append("c", vec![tests::events::user("Passed over.")]).await;
    let last = fixture.commits("c").await.pop().unwrap().position;
    let skip = format!("UPDATE checkpoint SET sequence = {} WHERE partition = {}", last.sequence, last.partition);
    fixture.sql(&skip).await;
    fixture.stack.projector.start().await;
    fixture.settle().await;
    let partition = "- digest_differs -";
    let expected =
        ["c conversation_differs - version,sequence,last_event_at,head,stored_bytes", "c event_missing 7", partition];
    fixture.check_differences("--digests", &expected).await;
    fixture.check_differences("", &expected[..2]).await;
    let repaired = fixture.verify("--repair").await;
    assert_eq!(repaired.ended.code, Some(0), "{repaired:?}");
    // The rows are repaired; the digest shows the earlier difference until it is set.
    fixture.check_no_differences("").await;
    fixture.check_differences("--digests", &[partition]).await;
    let repaired = fixture.verify("--digests --repair").await;
    assert_eq!(repaired.ended.code, Some(0), "{repaired:?}");
    fixture.agent.append("c", vec![tests::events::user("On.")]).await;
    fixture.settle().await;
    fixture.check_no_differences("--digests").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_rows_are_reported() {
    let mut fixture = Fixture::start().await;
    for conversation in ["a", "b", "c"] {
        fixture.create_conversation(conversation).await;
    }
    fixture.settle().await;
    let lose = "DELETE FROM conversation WHERE conversation_id = 'b';
                DELETE FROM event WHERE conversation_id = 'b'";
    fixture.sql(lose).await;
    let output = fixture.verify("--digests --repair").await;
    assert_eq!(output.ended.code, Some(0), "{output:?}");
    assert!(output.findings.contains("b conversation_missing -"), "{output:?}");
    fixture.check_no_differences("--digests").await;
    fixture.check_no_differences("").await;
}
