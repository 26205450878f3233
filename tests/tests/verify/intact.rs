//! An intact read model has no differences, with every option.

use wire::proto::event::v1::ForkPoint;

use crate::fixture::Fixture;

/// Ten conversations: plain, titled, archived, erased, and a fork.
async fn create_conversations(fixture: &mut Fixture) {
    for n in 0..8 {
        fixture.create_conversation(&format!("c{n}")).await;
    }
    let agent = &fixture.agent;
    let mut titled = agent.create_request("titled");
    titled.title = "A title".to_owned();
    titled.metadata_json = "{\"a\": 1}".to_owned();
    agent.try_create(titled).await.unwrap();
    agent.try_archive(agent.target("c1")).await.unwrap();
    agent.try_erase(agent.target("c2")).await.unwrap();
    let mut fork = agent.create_request("fork");
    fork.forked_from = Some(ForkPoint { conversation_id: "c0".to_owned(), version: 3, depth: 0 });
    agent.try_create(fork).await.unwrap();
    agent.append("fork", vec![tests::events::user("Otherwise?")]).await;
    fixture.settle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn intact_read_models_have_no_differences() {
    let mut fixture = Fixture::start().await;
    fixture.check_no_differences("").await;
    create_conversations(&mut fixture).await;
    let counts = |output: &crate::fixture::VerifyOutput| {
        (output.summary["conversations"].as_u64(), output.summary["events"].as_u64())
    };
    let once = fixture.check_no_differences("").await;
    // Seven of six events and one archived; one tombstone; the titled one; a fork of two.
    assert_eq!(once.summary["conversations"], 10);
    for at_once in [1, 3, 9, 10, 11] {
        let passes = fixture.check_no_differences(&format!("--conversations-at-once {at_once}")).await;
        assert_eq!(counts(&passes), counts(&once), "{at_once}");
    }
    let of_tenant = fixture.check_no_differences("--tenant acme").await;
    assert_eq!(counts(&of_tenant), counts(&once));
    let of_nobody = fixture.check_no_differences("--tenant nobody").await;
    assert_eq!(of_nobody.summary["conversations"], 0);
    let sampled = fixture.check_no_differences("--sample 100%").await;
    assert_eq!(sampled.summary["conversations"], 10);
    let sampled = fixture.check_no_differences("--sample 4 --seed 7").await;
    assert_eq!(sampled.summary["conversations"], 4);
    for conversation in ["c0", "c1", "c2", "titled", "fork", "unknown"] {
        fixture.check_no_differences(&format!("--tenant acme --conversation {conversation}")).await;
    }
    let digests = fixture.check_no_differences("--digests").await;
    assert_eq!(digests.summary["conversations"], 10);
    let repaired = fixture.check_no_differences("--repair").await;
    assert_eq!(repaired.summary["repaired"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn lagging_rows_are_no_differences() {
    let mut fixture = Fixture::start().await;
    fixture.create_conversation("c0").await;
    fixture.settle().await;
    fixture.stack.projector.stop().await;
    fixture.agent.append("c0", vec![tests::events::user("More?")]).await;
    fixture.create_conversation("c1").await;
    fixture.check_no_differences("").await;
    fixture.check_no_differences("--digests").await;
    fixture.check_no_differences("--tenant acme --conversation c0").await;
    let agent = &fixture.agent;
    // The rows lack the erasure, and nothing is left to compare them with.
    agent.try_erase(agent.target("c0")).await.unwrap();
    let unsettled = fixture.check_no_differences("").await;
    assert_eq!(unsettled.summary["unsettled"], 1, "{unsettled:?}");
    fixture.stack.projector.start().await;
    fixture.settle().await;
    let settled = fixture.check_no_differences("").await;
    assert_eq!(settled.summary["unsettled"], 0);
}
