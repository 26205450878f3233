//! A record that is spoiled: told as such, and no row is made from it.

use prost::Message as _;
use wire::proto::event::v1 as proto;

use crate::ground::Ground;

async fn ground() -> Ground {
    let mut ground = Ground::start().await;
    for conversation in ["a", "c", "d"] {
        ground.converse(conversation).await;
    }
    ground.settle().await;
    ground
}

/// Checks that this is found, and that a repair leaves it.
async fn check(ground: &Ground, expected: &[&str]) {
    ground.check_found("", expected).await;
    let kept = ground.check_found("--repair", expected).await;
    assert_eq!(kept.repaired, 0);
    ground.check_found("--sample 100%", expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_message_is_named_by_its_versions() {
    let ground = ground().await;
    let commits = ground.commits("c").await;
    // Versions 4 and 5.
    ground.delete(&commits[2]).await;
    let expected = [
        "c versions_missing 4",
        // The row counts the bytes of what is lost.
        "c conversation_differs - stored_bytes",
    ];
    check(&ground, &expected).await;
    ground.delete(&commits[0]).await;
    check(
        &ground,
        &[
            "c beginning_missing -",
            "c conversation_unfounded -",
            "c event_unfounded 1",
            "c versions_missing 4",
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_end_shows_in_rows_that_the_record_does_not_know() {
    let ground = ground().await;
    let commits = ground.commits("c").await;
    ground.delete(&commits[3]).await;
    let expected = [
        "c conversation_differs - version,sequence,last_event_at,head,stored_bytes",
        "c event_unfounded 6",
    ];
    check(&ground, &expected).await;
    let digests = ground.verify("--digests").await;
    assert_eq!(digests.ended.code, Some(5), "{digests:?}");
    assert!(digests.findings.contains(expected[1]), "{digests:?}");
    for commit in &commits[..3] {
        ground.delete(commit).await;
    }
    let unfounded = (1..=6).map(|version| format!("c event_unfounded {version}"));
    let unfounded: Vec<String> = unfounded
        .chain(["c conversation_unfounded -".to_owned()])
        .collect();
    check(
        &ground,
        &unfounded.iter().map(String::as_str).collect::<Vec<_>>(),
    )
    .await;
}

/// The last commit of `c`, in a form that no writer would seal, in place of the true one.
async fn spoil_last(ground: &mut Ground, spoil: impl FnOnce(&mut proto::Commit)) {
    ground.stack.projector.stop().await;
    ground
        .agent
        .append("c", vec![tests::events::user("Last.")])
        .await;
    let last = ground.commits("c").await.pop().unwrap();
    let mut commit = proto::Commit::decode(last.message.clone()).unwrap();
    spoil(&mut commit);
    ground.delete(&last).await;
    ground.publish("c", commit.encode_to_vec().into()).await;
    ground.stack.projector.start().await;
    ground.settle().await;
}

fn head(commit: &mut proto::Commit) -> &mut proto::Head {
    commit.envelope.as_mut().unwrap().head.as_mut().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_chain_or_head_is_named() {
    let mut ground = ground().await;
    spoil_last(&mut ground, |commit| {
        head(commit).chain = vec![7; 32].into();
    })
    .await;
    check(&ground, &["c chain_broken -"]).await;
    ground.check_whole("--tenant acme --conversation d").await;
    let mut ground = self::ground().await;
    spoil_last(&mut ground, |commit| head(commit).open_calls.clear()).await;
    ground.check_whole("").await;
    spoil_last(&mut ground, |commit| {
        head(commit).last_response_id = "x".to_owned();
    })
    .await;
    check(&ground, &["c head_wrong - last_response_id"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_conversation_is_told_as_such() {
    let mut ground = ground().await;
    spoil_last(&mut ground, |commit| commit.codec = 77).await;
    ground.check_found("", &["c parked -"]).await;
    let kept = ground.check_found("--repair", &["c parked -"]).await;
    assert_eq!(kept.repaired, 0);
    ground.check_whole("--digests").await;
    // What it has of rows is made whole all the same.
    ground
        .sql("DELETE FROM event WHERE conversation_id = 'c' AND version = 2")
        .await;
    let repaired = ground
        .check_found("--repair", &["c event_missing 2", "c parked -"])
        .await;
    assert_eq!(repaired.repaired, 0, "it is parked still");
    ground.check_found("", &["c parked -"]).await;
}
