//! A whole read model is found whole, however it is looked at.

use wire::proto::event::v1::ForkPoint;

use crate::ground::Ground;

/// Ten conversations: plain, titled, archived, erased, and a fork that goes on.
async fn furnish(ground: &mut Ground) {
    for n in 0..8 {
        ground.converse(&format!("c{n}")).await;
    }
    let agent = &ground.agent;
    let mut titled = agent.create_request("titled");
    titled.title = "A title".to_owned();
    titled.metadata_json = "{\"a\": 1}".to_owned();
    agent.try_create(titled).await.unwrap();
    agent.try_archive(agent.target("c1")).await.unwrap();
    agent.try_erase(agent.target("c2")).await.unwrap();
    let mut fork = agent.create_request("fork");
    fork.forked_from = Some(ForkPoint {
        conversation_id: "c0".to_owned(),
        version: 3,
        depth: 0,
    });
    agent.try_create(fork).await.unwrap();
    agent
        .append("fork", vec![tests::events::user("Otherwise?")])
        .await;
    ground.settle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_read_model_is_whole() {
    let mut ground = Ground::start().await;
    ground.check_whole("").await;
    furnish(&mut ground).await;
    let counts = |said: &crate::ground::Said| {
        (
            said.summary["conversations"].as_u64(),
            said.summary["events"].as_u64(),
        )
    };
    let once = ground.check_whole("").await;
    // Seven of six events and one archived; one tombstone; the titled one; a fork of two.
    assert_eq!(once.summary["conversations"], 10);
    for at_once in [1, 3, 9, 10, 11] {
        let passes = ground
            .check_whole(&format!("--conversations-at-once {at_once}"))
            .await;
        assert_eq!(counts(&passes), counts(&once), "{at_once}");
    }
    let of_tenant = ground.check_whole("--tenant acme").await;
    assert_eq!(counts(&of_tenant), counts(&once));
    let of_nobody = ground.check_whole("--tenant nobody").await;
    assert_eq!(of_nobody.summary["conversations"], 0);
    let sampled = ground.check_whole("--sample 100%").await;
    assert_eq!(sampled.summary["conversations"], 10);
    let sampled = ground.check_whole("--sample 4 --seed 7").await;
    assert_eq!(sampled.summary["conversations"], 4);
    for conversation in ["c0", "c1", "c2", "titled", "fork", "unknown"] {
        ground
            .check_whole(&format!("--tenant acme --conversation {conversation}"))
            .await;
    }
    let digests = ground.check_whole("--digests").await;
    assert_eq!(digests.summary["conversations"], 10);
    let repaired = ground.check_whole("--repair").await;
    assert_eq!(repaired.summary["repaired"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_are_behind_are_no_difference() {
    let mut ground = Ground::start().await;
    ground.converse("c0").await;
    ground.settle().await;
    ground.stack.projector.stop().await;
    ground
        .agent
        .append("c0", vec![tests::events::user("More?")])
        .await;
    ground.converse("c1").await;
    ground.check_whole("").await;
    ground.check_whole("--digests").await;
    ground.check_whole("--tenant acme --conversation c0").await;
    let agent = &ground.agent;
    // An erasure that the rows do not know yet leaves nothing to compare them with.
    agent.try_erase(agent.target("c0")).await.unwrap();
    let unsettled = ground.check_whole("").await;
    assert_eq!(unsettled.summary["unsettled"], 1, "{unsettled:?}");
    ground.stack.projector.start().await;
    ground.settle().await;
    let settled = ground.check_whole("").await;
    assert_eq!(settled.summary["unsettled"], 0);
}
