//! The effects of an archive run, and everything that it must not change.

use read_model::ReadModelConfig;
use tests::events::user;
use tests::settings::Role;
use wire::proto::write::v1 as write;

use crate::fixture::{Fixture, TENANT};
use crate::old_conversations::OldConversation;

const CONVERSATIONS: usize = 12;
const MESSAGES: usize = 30;

#[tokio::test]
async fn archiving_keeps_last_commits_and_changes_no_reads() {
    let fixture = Fixture::start().await;
    let old = fixture.fill(CONVERSATIONS, MESSAGES).await;
    fixture.agent.create("young").await;
    for n in 0..5 {
        fixture.agent.append("young", vec![user(format!("young {n}"))]).await;
    }
    let (texts, size) = (fixture.texts("old-3").await, fixture.size_bytes().await);
    let context = fixture.agent.context("old-3", 10).await;
    let url = fixture.stack.servers.database_url();
    fixture.wait_for_rows(url).await;

    let planned = fixture.lines(&dry_run(&fixture), 0).await;
    assert_eq!(planned[0]["conversations"], CONVERSATIONS, "{planned:?}");
    assert_eq!(planned[0]["commits"], CONVERSATIONS * MESSAGES);
    assert_eq!(fixture.commits("old-3").await, 31);
    assert_eq!(fixture.archived().await, 0);

    let summary = fixture.archive().await;
    assert_eq!(summary["commits"], CONVERSATIONS * MESSAGES, "{summary}");
    assert_eq!(summary["trimmed"], CONVERSATIONS * MESSAGES, "{summary}");
    assert_eq!((&summary["left"], &summary["unsound"]), (&0.into(), &0.into()));
    for one in &old {
        assert_eq!(fixture.commits(one.id()).await, 1, "{}", one.id());
    }
    assert_eq!(fixture.commits("young").await, 6);
    assert!(fixture.size_bytes().await * 3 < size, "{size}");
    assert_eq!(fixture.archived().await, 360);
    fixture.run("archive verify", 0).await;
    fixture.verify().await;

    assert_eq!(fixture.texts("old-3").await, texts);
    assert_eq!(fixture.agent.context("old-3", 10).await.messages, context.messages);
    check_old_retry(&fixture, &old[3]).await;
    check_writes_and_reads(&fixture).await;
    check_status_and_archive_read(&fixture).await;
    // No further commits have become old.
    let again = fixture.archive().await;
    assert_eq!((&again["commits"], &again["trimmed"]), (&0.into(), &0.into()), "{again}");
    check_rebuild(&fixture).await;
}

fn dry_run(fixture: &Fixture) -> String {
    let folder = fixture.segments();
    format!("archive run --older-than 90d --to file://{} --dry-run --json", folder.display())
}

/// The key of a commit that is only in a segment is still known.
async fn check_old_retry(fixture: &Fixture, old: &OldConversation) {
    let request = write::AppendEventsRequest {
        target: Some(write::CommandTarget {
            idempotency_key: old.commits[4].to_string(),
            ..fixture.agent.target(old.id())
        }),
        events: vec![user("something else")],
        ..write::AppendEventsRequest::default()
    };
    let refused = fixture.agent.try_append(request).await.expect_err("a used key");
    assert!(refused.message().contains("key"), "{refused:?}");
    assert_eq!(fixture.agent.version(old.id()).await, 31);
}

/// Appends, forks from archived events and reads, with the projector stopped.
async fn check_writes_and_reads(fixture: &Fixture) {
    let agent = &fixture.agent;
    let mut ahead = fixture.texts("old-3").await;
    let result = agent.append("old-3", vec![user("again")]).await;
    assert_eq!(result.version, 32);
    ahead.push("again".to_owned());
    assert_eq!(fixture.texts("old-3").await, ahead);
    fixture.check_fork("old-3").await;
    assert_eq!(agent.context("old-3", 3).await.messages.len(), 3);
}

/// Checks `status` and `archive read`.
async fn check_status_and_archive_read(fixture: &Fixture) {
    let status = fixture.run("status --json --no-roles", 0).await;
    let status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
    let partitions = status["partitions"].as_array().unwrap();
    let holes = |name: &str| -> u64 { partitions.iter().map(|one| one[name].as_u64().unwrap()).sum() };
    assert_eq!(holes("holes"), holes("holesArchived"), "{status}");
    let read = format!("archive read --tenant {TENANT} --conversation old-5");
    let by_catalogue = fixture.run(&read, 0).await;
    assert_eq!(by_catalogue.stdout.lines().count(), MESSAGES);
    let folder = fixture.segments();
    let alone = format!("{read} --from file://{} --nats-url nats://127.0.0.1:1", folder.display());
    assert_eq!(fixture.run(&alone, 0).await.stdout, by_catalogue.stdout);
    let chat = fixture.run(&format!("{read} --format transcript"), 0).await;
    assert!(chat.stdout.contains("old-5 says 7"), "{chat:?}");
}

/// Rebuilds beside the live rows, and projects from zero into an empty database.
async fn check_rebuild(fixture: &Fixture) {
    fixture.run("rebuild conversations", 0).await;
    let whole = fixture.verify().await;
    fixture.run("rebuild rollback", 0).await;
    fixture.verify().await;

    let empty = devstack::test::database().await;
    let mut other = fixture.stack.another(Role::Projector);
    other.settings.projector.read_model = ReadModelConfig::new(empty.url.clone());
    other.start().await;
    fixture.wait_for_rows(&empty.url).await;
    let line = format!("verify --json --database-url {}", empty.url);
    let anew = fixture.summary(&line).await;
    assert_eq!((&anew["differing"], &anew["events"]), (&0.into(), &whole["events"]), "{anew}");
    other.stop().await;
}
