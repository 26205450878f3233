//! Conversations that leave the record with their last commit, and come back with an append.

use std::fs;

use domain::event::Lifecycle;
use domain::{Fact, Partition};
use futures::future::join_all;
use serde_json::Value;
use tests::events::user;
use tests::eventually::eventually;
use tonic::Code;
use wire::proto::write::v1 as write;

use crate::fixture::{Fixture, TENANT};
use crate::old_conversations::{OldConversation, noise};

const CONVERSATIONS: usize = 10;
/// More commits than a head names.
const MESSAGES: usize = 12;
const EVENTS: u64 = 13;

/// The subjects of all partitions.
async fn subjects(fixture: &Fixture) -> usize {
    let record = &fixture.record;
    let partitions = (0..record.partitions()).map(Partition);
    let listed = join_all(partitions.map(|partition| record.conversations(partition, None))).await.into_iter();
    listed.map(|listed| listed.expect("a list").len()).sum()
}

async fn fill(fixture: &Fixture) -> Vec<OldConversation> {
    let old = fixture.fill(CONVERSATIONS, MESSAGES).await;
    let mut erased = OldConversation::new("erased").chat(&fixture.record, 2).await;
    let tombstone = Fact::Lifecycle(Lifecycle::ConversationErased);
    erased.append(&fixture.record, 100, vec![tombstone]).await;
    let removed = fixture.record.erase_conversation(&erased.key).await;
    assert_eq!(removed.expect("a removal").commits, 3);
    fixture.agent.create("young").await;
    let url = fixture.stack.servers.database_url();
    fixture.wait_for_rows(url).await;
    old
}

/// Conversations of one commit, of which 23 fill a segment.
#[tokio::test]
async fn a_full_segment_ends_after_a_conversation() {
    let fixture = Fixture::start().await;
    let mut in_partition = 0;
    for n in 0.. {
        let mut one = OldConversation::new(&format!("large-{n}"));
        let partition = fixture.record.partition_of(&one.key).await;
        if partition.expect("a partition") == Partition(0) {
            let texts: Vec<String> = (0..8).map(|text| noise(n * 8 + text, 500_000)).collect();
            one.begin(&fixture.record, &texts).await;
            in_partition += 1;
        }
        if in_partition == 30 {
            break;
        }
    }
    let url = fixture.stack.servers.database_url();
    fixture.wait_for_rows(url).await;
    let summary = fixture.hibernate().await;
    assert_eq!(summary["hibernated"], 30, "{summary}");
    let segments = fixture.lines("archive list --json", 0).await;
    let sizes: Vec<_> = segments.iter().map(|one| one["conversations"].as_u64().expect("conversations")).collect();
    assert_eq!(sizes, [23, 7], "{segments:?}");
}

#[tokio::test]
async fn hibernated_conversations_are_read_and_woken() {
    let fixture = Fixture::start().await;
    let old = fill(&fixture).await;
    let (texts, context) = (fixture.texts("old-3").await, fixture.agent.context("old-3", 10).await);
    let planned = fixture.lines(&fixture.hibernation("--dry-run"), 0).await;
    assert_eq!(planned[0]["conversations"], CONVERSATIONS + 1, "{planned:?}");
    assert_eq!(planned[0]["commits"], CONVERSATIONS * (MESSAGES + 1) + 1);

    let summary = fixture.hibernate().await;
    assert_eq!(summary["hibernated"], CONVERSATIONS + 1, "{summary}");
    assert_eq!(summary["unsound"], 0, "{summary}");
    assert_eq!(subjects(&fixture).await, 1, "only the young one is left");
    for id in ["old-3", "erased"] {
        assert_eq!(fixture.commits(id).await, 0, "{id}");
    }
    check_operators(&fixture).await;

    assert_eq!(fixture.texts("old-3").await, texts);
    let again = fixture.agent.context("old-3", 10).await;
    assert_eq!(again.messages, context.messages);
    check_recreation(&fixture).await;
    check_old_keys(&fixture, &old).await;
    check_concurrent_appends(&fixture).await;
    check_forks(&fixture).await;
    check_erasures(&fixture).await;

    let url = fixture.stack.servers.database_url();
    fixture.wait_for_rows(url).await;
    check_operators(&fixture).await;
    // What was woken is young, and what was erased has a young tombstone.
    let summary = fixture.summary(&fixture.hibernation("")).await;
    assert_eq!(summary["hibernated"], 0, "{summary}");
    fixture.run("archive verify", 0).await;
    let whole = fixture.verify().await;
    check_new_rows(&fixture, &whole).await;
}

/// The commands that read record and archive find no difference.
async fn check_operators(fixture: &Fixture) {
    fixture.verify().await;
    let digests = fixture.summary("verify --digests --json").await;
    assert_eq!(digests["differing"], 0, "{digests}");
    let read = format!("tail --tenant {TENANT} --conversation old-5");
    let commits = fixture.run(&read, 0).await.stdout.lines().count();
    assert_eq!(commits, MESSAGES + 1);
    let status: Value = serde_json::from_str(&fixture.run("status --json --no-roles", 0).await.stdout).unwrap();
    for partition in status["partitions"].as_array().unwrap() {
        assert_eq!(partition["holesUnexplained"], 0, "{status}");
    }
}

/// Nothing is created over a hibernated conversation, or over a hibernated tombstone.
async fn check_recreation(fixture: &Fixture) {
    for (id, code) in [("old-0", Code::AlreadyExists), ("erased", Code::FailedPrecondition)] {
        let request = fixture.agent.create_request(id);
        let rejected = fixture.agent.try_create(request).await.expect_err("an existing conversation");
        assert_eq!(rejected.code(), code, "{id}: {rejected:?}");
    }
    let target = fixture.agent.read_target("erased");
    let gone = fixture.agent.try_get(target).await.expect_err("nothing");
    assert_eq!(gone.code(), Code::NotFound);
    assert_eq!(fixture.commits("old-0").await, 0);
}

/// The first answer is still known, by the head and by the rows.
async fn check_old_keys(fixture: &Fixture, old: &[OldConversation]) {
    let agent = &fixture.agent;
    for (one, commit) in [(&old[4], 1), (&old[4], MESSAGES)] {
        let request = write::AppendEventsRequest {
            target: Some(write::CommandTarget {
                idempotency_key: one.commits[commit].to_string(),
                ..agent.target(one.id())
            }),
            events: vec![user("something else")],
            ..write::AppendEventsRequest::default()
        };
        let rejected = agent.try_append(request).await.expect_err("a used key");
        assert!(rejected.message().contains("key"), "{rejected:?}");
        assert_eq!(agent.version(one.id()).await, EVENTS);
    }
}

/// Concurrent appends wake a conversation once.
async fn check_concurrent_appends(fixture: &Fixture) {
    let agent = &fixture.agent;
    let appends = (0..8).map(|n| agent.append("old-2", vec![user(format!("again {n}"))]));
    let mut versions: Vec<u64> = join_all(appends).await.into_iter().map(|result| result.version).collect();
    versions.sort_unstable();
    assert_eq!(versions, (EVENTS + 1..=EVENTS + 8).collect::<Vec<_>>());
    assert_eq!(fixture.commits("old-2").await, 8);
    assert_eq!(fixture.texts("old-2").await.len(), MESSAGES + 8);
    let exact = |version| write::AppendEventsRequest {
        target: Some(write::CommandTarget { expected_version: Some(version), ..agent.target("old-1") }),
        events: vec![user("exactly")],
        ..write::AppendEventsRequest::default()
    };
    let early = agent.try_append(exact(EVENTS - 1)).await;
    assert_eq!(early.expect_err("a conflict").code(), Code::Aborted);
    let (one, other) = futures::future::join(agent.try_append(exact(EVENTS)), agent.try_append(exact(EVENTS))).await;
    let (one, other) = (one.map(|one| one.version), other.map(|other| other.version));
    assert!(matches!((&one, &other), (Ok(14), Err(_)) | (Err(_), Ok(14))), "{one:?} {other:?}");
}

/// A fork of a hibernated conversation does not wake it.
async fn check_forks(fixture: &Fixture) {
    fixture.check_fork("old-3").await;
    assert_eq!(fixture.commits("old-3").await, 0);
}

/// Erased by a caller, and by an operator: no text is left in a segment, and nothing is created again.
async fn check_erasures(fixture: &Fixture) {
    let agent = &fixture.agent;
    agent.try_erase(agent.target("old-6")).await.expect("an erasure");
    fixture.run("archive sweep", 0).await;
    let receipt = fixture.folder.path().join("receipt.json");
    let line = format!("erase conversation old-7 --tenant {TENANT} --receipt {}", receipt.display());
    fixture.run(&line, 0).await;
    let verify = format!("erase verify-receipt {}", receipt.display());
    fixture.run(&verify, 0).await;
    for id in ["old-6", "old-7"] {
        let read = format!("archive read --tenant {TENANT} --conversation {id}");
        assert_eq!(fixture.run(&read, 0).await.stdout, "", "{id}");
        assert_eq!(fixture.commits(id).await, 1, "{id}");
        eventually("an erased conversation", || async {
            let target = agent.read_target(id);
            let gone = agent.try_get(target).await.err()?;
            (gone.code() == Code::NotFound).then_some(())
        })
        .await;
        agent.try_create(agent.create_request(id)).await.expect_err("an erased conversation");
    }
}

/// Rows that are built anew have all hibernated conversations.
async fn check_new_rows(fixture: &Fixture, whole: &Value) {
    fixture.run("rebuild conversations", 0).await;
    let rebuilt = fixture.verify().await;
    assert_eq!(rebuilt["events"], whole["events"], "{rebuilt}");
    assert_eq!(fixture.texts("old-8").await.len(), MESSAGES);
}

/// After another process woke it and it is hibernated again, a conversation has no commit in the record, as when the writer read it
/// first.
#[tokio::test]
async fn a_conversation_that_another_writer_woke_continues_at_its_last_version() {
    let fixture = Fixture::start().await;
    let mut old = fixture.fill(1, MESSAGES).await;
    let summary = fixture.hibernate().await;
    assert_eq!(summary["hibernated"], 1, "{summary}");
    // The writer reads the head of the parent.
    fixture.check_fork("old-0").await;
    old[0].wake(&fixture.record, 95, "by another writer").await;
    let url = fixture.stack.servers.database_url();
    fixture.wait_for_rows(url).await;
    let summary = fixture.hibernate().await;
    assert_eq!(summary["hibernated"], 1, "{summary}");
    let woken = fixture.agent.append("old-0", vec![user("again")]).await;
    assert_eq!(woken.version, EVENTS + 2);
    fixture.wait_for_rows(url).await;
    let texts = fixture.texts("old-0").await;
    assert_eq!(texts[MESSAGES..], ["by another writer", "again"]);
    fixture.verify().await;
}

/// Rows are only a copy: an append finds a hibernated conversation without them, and no read takes it for missing.
#[tokio::test]
async fn lost_rows_hide_no_hibernated_conversation() {
    let mut fixture = Fixture::start_with_own_postgres().await;
    let old = fixture.fill(3, MESSAGES).await;
    let summary = fixture.hibernate().await;
    assert_eq!(summary["hibernated"], 3, "{summary}");
    fixture.sql("DELETE FROM conversation; DELETE FROM event").await;
    let agent = &fixture.agent;
    let rejected = agent.try_create(agent.create_request("old-0")).await.expect_err("an existing conversation");
    assert_eq!(rejected.code(), Code::AlreadyExists, "{rejected:?}");
    let read = agent.try_get(agent.read_target("old-0")).await;
    assert_eq!(read.expect_err("no rows").code(), Code::Unavailable);
    let request = write::AppendEventsRequest {
        target: Some(write::CommandTarget { idempotency_key: old[1].commits[1].to_string(), ..agent.target("old-1") }),
        events: vec![user("something else")],
        ..write::AppendEventsRequest::default()
    };
    let unknown = agent.try_append(request).await;
    assert_eq!(unknown.expect_err("no rows").code(), Code::Unavailable);
    let woken = agent.append("old-2", vec![user("again")]).await;
    assert_eq!(woken.version, EVENTS + 1);

    let empty = devstack::test::database().await;
    let mut other = fixture.stack.another(tests::settings::Role::Projector);
    let url = read_model::ReadModelConfig::new(empty.url.clone());
    other.settings.projector.read_model = url;
    other.start().await;
    fixture.wait_for_rows(&empty.url).await;
    let line = format!("verify --json --database-url {}", empty.url);
    let anew = fixture.summary(&line).await;
    assert_eq!((&anew["differing"], &anew["events"]), (&0.into(), &(EVENTS * 3 + 1).into()), "{anew}");
    other.stop().await;
}

/// A segment that cannot be read back keeps every last commit in the record.
#[tokio::test]
async fn unreadable_segments_keep_last_commits() {
    let fixture = Fixture::start().await;
    fixture.fill(4, MESSAGES).await;
    let mut run = fixture.begin_hibernation("overwrite");
    eventually("trimmed conversations", || async {
        for n in 0..4 {
            if fixture.commits(&format!("old-{n}")).await > 1 {
                return None;
            }
        }
        Some(())
    })
    .await;
    let files = fixture.files();
    let bytes = |file| fs::read(file).expect("a segment");
    let whole: Vec<Vec<u8>> = files.iter().map(bytes).collect();
    for (file, whole) in files.iter().zip(&whole) {
        let mut damaged = whole.clone();
        damaged[100] ^= 1;
        fs::write(file, damaged).expect("a file");
    }
    let ended = run.wait().await;
    assert_eq!(ended.code(), Some(1));
    let last = fixture.texts("old-0").await;
    for n in 0..4 {
        assert_eq!(fixture.commits(&format!("old-{n}")).await, 1);
    }
    for (file, whole) in files.iter().zip(&whole) {
        fs::write(file, whole).expect("a file");
    }
    let summary = fixture.hibernate().await;
    assert_eq!(summary["hibernated"], 4, "{summary}");
    assert_eq!(fixture.texts("old-0").await, last);
    fixture.verify().await;
}
