//! The digest of each partition: sees what lag does not.

use crate::ground::Ground;

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_was_passed_over_is_seen_though_nothing_lags() {
    let mut ground = Ground::start().await;
    for conversation in ["a", "b", "c", "d"] {
        ground.converse(conversation).await;
    }
    ground.settle().await;
    ground.stack.projector.stop().await;
    ground
        .agent
        .append("c", vec![tests::events::user("Passed over.")])
        .await;
    let last = ground.commits("c").await.pop().unwrap().position;
    let skip = format!(
        "UPDATE checkpoint SET sequence = {} WHERE partition = {}",
        last.sequence, last.partition
    );
    ground.sql(&skip).await;
    ground.stack.projector.start().await;
    ground.settle().await;
    let partition = "- digest_differs -";
    let expected = [
        "c conversation_differs - version,sequence,last_event_at,head,stored_bytes",
        "c event_missing 7",
        partition,
    ];
    ground.check_found("--digests", &expected).await;
    ground.check_found("", &expected[..2]).await;
    let repaired = ground.verify("--repair").await;
    assert_eq!(repaired.ended.code, Some(0), "{repaired:?}");
    // The rows are whole; that they were not, stays to be seen until the digest is set.
    ground.check_whole("").await;
    ground.check_found("--digests", &[partition]).await;
    let repaired = ground.verify("--digests --repair").await;
    assert_eq!(repaired.ended.code, Some(0), "{repaired:?}");
    ground
        .agent
        .append("c", vec![tests::events::user("On.")])
        .await;
    ground.settle().await;
    ground.check_whole("--digests").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_row_is_named() {
    let mut ground = Ground::start().await;
    for conversation in ["a", "b", "c"] {
        ground.converse(conversation).await;
    }
    ground.settle().await;
    let lose = "DELETE FROM conversation WHERE conversation_id = 'b';
                DELETE FROM event WHERE conversation_id = 'b'";
    ground.sql(lose).await;
    let said = ground.verify("--digests --repair").await;
    assert_eq!(said.ended.code, Some(0), "{said:?}");
    assert!(
        said.findings.contains("b conversation_missing -"),
        "{said:?}"
    );
    ground.check_whole("--digests").await;
    ground.check_whole("").await;
}
