//! What an archive changes, and all that it does not.

use read_model::ReadModelConfig;
use tests::events::user;
use tests::settings::Role;
use wire::proto::event::v1 as event;
use wire::proto::write::v1 as write;

use crate::ground::{Ground, TENANT};
use crate::old::Old;

const CONVERSATIONS: usize = 12;
const MESSAGES: usize = 30;

#[tokio::test]
async fn the_record_keeps_last_commits_and_everything_is_as_before() {
    let ground = Ground::start().await;
    let old = ground.fill(CONVERSATIONS, MESSAGES).await;
    ground.agent.create("young").await;
    for n in 0..5 {
        ground
            .agent
            .append("young", vec![user(format!("young {n}"))])
            .await;
    }
    let (texts, size) = (ground.texts("old-3").await, ground.size_bytes().await);
    let context = ground.agent.context("old-3", 10).await;
    let url = ground.stack.servers.database_url();
    ground.projected(url).await;

    let planned = ground.lines(&dry(&ground), 0).await;
    assert_eq!(planned[0]["conversations"], CONVERSATIONS, "{planned:?}");
    assert_eq!(planned[0]["commits"], CONVERSATIONS * MESSAGES);
    assert_eq!(ground.commits("old-3").await, 31);
    assert_eq!(ground.archived().await, 0);

    let told = ground.archive().await;
    assert_eq!(told["commits"], CONVERSATIONS * MESSAGES, "{told}");
    assert_eq!(told["trimmed"], CONVERSATIONS * MESSAGES, "{told}");
    assert_eq!((&told["left"], &told["unsound"]), (&0.into(), &0.into()));
    for one in &old {
        assert_eq!(ground.commits(one.id()).await, 1, "{}", one.id());
    }
    assert_eq!(ground.commits("young").await, 6);
    assert!(ground.size_bytes().await * 3 < size, "{size}");
    assert_eq!(ground.archived().await, 360);
    ground.run("archive verify", 0).await;
    ground.verify().await;

    assert_eq!(ground.texts("old-3").await, texts);
    assert_eq!(
        ground.agent.context("old-3", 10).await.messages,
        context.messages
    );
    a_retry_is_known(&ground, &old[3]).await;
    goes_on(&ground).await;
    told_by_others(&ground).await;
    // Nothing is old that was not old before.
    let again = ground.archive().await;
    assert_eq!(
        (&again["commits"], &again["trimmed"]),
        (&0.into(), &0.into()),
        "{again}"
    );
    rows_are_made_anew(&ground).await;
}

fn dry(ground: &Ground) -> String {
    let folder = ground.segments();
    format!(
        "archive run --older-than 90d --to file://{} --dry-run --json",
        folder.display()
    )
}

/// The key of a commit that is only in a segment is still one that was used.
async fn a_retry_is_known(ground: &Ground, old: &Old) {
    let request = write::AppendEventsRequest {
        target: Some(write::CommandTarget {
            idempotency_key: old.commits[4].to_string(),
            ..ground.agent.target(old.id())
        }),
        events: vec![user("something else")],
    };
    let refused = ground
        .agent
        .try_append(request)
        .await
        .expect_err("a used key");
    assert!(refused.message().contains("key"), "{refused:?}");
    assert_eq!(ground.agent.version(old.id()).await, 31);
}

/// Appends, forks from the archived past and reads, with the projector stopped.
async fn goes_on(ground: &Ground) {
    let agent = &ground.agent;
    let mut ahead = ground.texts("old-3").await;
    let result = agent.append("old-3", vec![user("again")]).await;
    assert_eq!(result.version, 32);
    ahead.push("again".to_owned());
    assert_eq!(ground.texts("old-3").await, ahead);
    let request = write::CreateConversationRequest {
        forked_from: Some(event::ForkPoint {
            conversation_id: "old-3".to_owned(),
            version: 6,
            depth: 0,
        }),
        ..agent.create_request("fork")
    };
    agent.try_create(request).await.expect("a fork");
    agent.append("fork", vec![user("aside")]).await;
    let mut forked: Vec<String> = ahead.iter().take(5).cloned().collect();
    forked.push("aside".to_owned());
    assert_eq!(ground.texts("fork").await, forked);
    assert_eq!(agent.context("old-3", 3).await.messages.len(), 3);
}

/// What `status` and `archive read` say of it.
async fn told_by_others(ground: &Ground) {
    let status = ground.run("status --json --no-roles", 0).await;
    let status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
    let partitions = status["partitions"].as_array().unwrap();
    let holes = |name: &str| -> u64 {
        partitions
            .iter()
            .map(|one| one[name].as_u64().unwrap())
            .sum()
    };
    assert_eq!(holes("holes"), holes("holesArchived"), "{status}");
    let read = format!("archive read --tenant {TENANT} --conversation old-5");
    let by_catalogue = ground.run(&read, 0).await;
    assert_eq!(by_catalogue.stdout.lines().count(), MESSAGES);
    let folder = ground.segments();
    let alone = format!(
        "{read} --from file://{} --nats-url nats://127.0.0.1:1",
        folder.display()
    );
    assert_eq!(ground.run(&alone, 0).await.stdout, by_catalogue.stdout);
    let chat = ground.run(&format!("{read} --format transcript"), 0).await;
    assert!(chat.stdout.contains("old-5 says 7"), "{chat:?}");
}

/// Rebuilt beside the live rows, and made from nothing by a projector in an empty database.
async fn rows_are_made_anew(ground: &Ground) {
    ground.run("rebuild conversations", 0).await;
    let whole = ground.verify().await;
    ground.run("rebuild rollback", 0).await;
    ground.verify().await;

    let empty = devstack::test::database().await;
    let mut other = ground.stack.another(Role::Projector);
    other.settings.projector.read_model = ReadModelConfig::new(empty.url.clone());
    other.start().await;
    ground.projected(&empty.url).await;
    let line = format!("verify --json --database-url {}", empty.url);
    let anew = ground.summary(&line).await;
    assert_eq!(
        (&anew["differing"], &anew["events"]),
        (&0.into(), &whole["events"]),
        "{anew}"
    );
    other.stop().await;
}
