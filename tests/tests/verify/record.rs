//! A damaged record is reported as such, and no row is made from it.

use prost::Message as _;
use wire::proto::event::v1 as proto;

use crate::fixture::Fixture;

async fn fixture() -> Fixture {
    let mut fixture = Fixture::start().await;
    for conversation in ["a", "c", "d"] {
        fixture.create_conversation(conversation).await;
    }
    fixture.settle().await;
    fixture
}

/// Checks that these differences are found, and that a repair keeps them.
async fn check(fixture: &Fixture, expected: &[&str]) {
    fixture.check_differences("", expected).await;
    let kept = fixture.check_differences("--repair", expected).await;
    assert_eq!(kept.repaired, 0);
    fixture.check_differences("--sample 100%", expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_messages_are_reported_by_version() {
    let fixture = fixture().await;
    let commits = fixture.commits("c").await;
    // Versions 4 and 5.
    fixture.delete(&commits[2]).await;
    let expected = [
        "c versions_missing 4",
        // The row counts the bytes of the lost events.
        "c conversation_differs - stored_bytes",
    ];
    check(&fixture, &expected).await;
    fixture.delete(&commits[0]).await;
    check(
        &fixture,
        &["c beginning_missing -", "c conversation_unfounded -", "c event_unfounded 1", "c versions_missing 4"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_stream_ends_leave_unknown_rows() {
    let fixture = fixture().await;
    let commits = fixture.commits("c").await;
    fixture.delete(&commits[3]).await;
    let expected = ["c conversation_differs - version,sequence,last_event_at,head,stored_bytes", "c event_unfounded 6"];
    check(&fixture, &expected).await;
    let digests = fixture.verify("--digests").await;
    assert_eq!(digests.ended.code, Some(5), "{digests:?}");
    assert!(digests.findings.contains(expected[1]), "{digests:?}");
    for commit in &commits[..3] {
        fixture.delete(commit).await;
    }
    let unfounded: Vec<String> = (1..=6)
        .map(|version| format!("c event_unfounded {version}"))
        .chain(["c conversation_unfounded -".to_owned()])
        .collect();
    check(&fixture, &unfounded.iter().map(String::as_str).collect::<Vec<_>>()).await;
}

/// Replaces the last commit of `c` by one that no writer would create.
async fn replace_last_commit(fixture: &mut Fixture, spoil: impl FnOnce(&mut proto::Commit)) {
    fixture.stack.projector.stop().await;
    fixture.agent.append("c", vec![tests::events::user("Last.")]).await;
    let last = fixture.commits("c").await.pop().unwrap();
    let mut commit = proto::Commit::decode(last.message.clone()).unwrap();
    spoil(&mut commit);
    fixture.delete(&last).await;
    fixture.publish("c", commit.encode_to_vec().into()).await;
    fixture.stack.projector.start().await;
    fixture.settle().await;
}

fn head(commit: &mut proto::Commit) -> &mut proto::Head {
    commit.envelope.as_mut().unwrap().head.as_mut().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_chains_and_heads_are_reported() {
    let mut fixture = fixture().await;
    replace_last_commit(&mut fixture, |commit| {
        head(commit).chain = vec![7; 32].into();
    })
    .await;
    check(&fixture, &["c chain_broken -"]).await;
    fixture.check_no_differences("--tenant acme --conversation d").await;
    let mut fixture = self::fixture().await;
    replace_last_commit(&mut fixture, |commit| head(commit).open_calls.clear()).await;
    fixture.check_no_differences("").await;
    replace_last_commit(&mut fixture, |commit| {
        head(commit).last_response_id = "x".to_owned();
    })
    .await;
    check(&fixture, &["c head_wrong - last_response_id"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parked_conversations_are_reported() {
    let mut fixture = fixture().await;
    replace_last_commit(&mut fixture, |commit| commit.codec = 77).await;
    fixture.check_differences("", &["c parked -"]).await;
    let kept = fixture.check_differences("--repair", &["c parked -"]).await;
    assert_eq!(kept.repaired, 0);
    fixture.check_no_differences("--digests").await;
    // Its other rows are repaired.
    fixture.sql("DELETE FROM event WHERE conversation_id = 'c' AND version = 2").await;
    let repaired = fixture.check_differences("--repair", &["c event_missing 2", "c parked -"]).await;
    assert_eq!(repaired.repaired, 0, "it is parked still");
    fixture.check_differences("", &["c parked -"]).await;
}
