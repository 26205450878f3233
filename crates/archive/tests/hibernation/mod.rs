//! Last commits that leave the record while others append.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use archive::{Archive, LastCommits};
use domain::{ConversationKey, Sequence, Stage};
use event_log::{AppendOutcome, Record, RecordConfig, Removal, TailBounds};
use futures::future::join_all;

use crate::conversations::{key, note, sealed};
use crate::{NOW, PARTITION, TestArchive};

const CONVERSATIONS: usize = 24;
/// How often a removal is cut off.
const KILLS: u32 = 16;

/// Appends a note as a writer does that knows the current catalogue: again if the last commit was removed meanwhile. Returns
/// whether no other append was first.
async fn say(of: &Archive, key: &ConversationKey) -> bool {
    let mut first = None;
    loop {
        let archive = Archive::of(of.record());
        let last = archive.last_from_leader(key).await.unwrap().unwrap();
        let message = &last.message;
        let base = (message.open_head().unwrap(), message.position.sequence);
        if *first.get_or_insert(base.1) != base.1 {
            return false;
        }
        let append = last.followed_by(sealed(key, Some(base), note("again")).0);
        let outcome = archive.record().append(key, append).await.unwrap();
        if matches!(outcome, AppendOutcome::Committed { .. }) {
            return true;
        }
    }
}

/// The versions of a conversation, from archive and record.
async fn versions(archive: &Archive, key: &ConversationKey) -> Vec<u64> {
    let mut commits = archive.commits(key, Sequence(0)).await.unwrap();
    let mut versions = Vec::new();
    while let Some(page) = commits.next(TailBounds::default()).await.unwrap() {
        let heads = page.iter().map(|commit| commit.open_head().unwrap());
        versions.extend(heads.map(|head| head.version.0));
    }
    versions
}

#[tokio::test]
async fn killed_removals_and_appends_lose_and_fork_nothing() {
    for removal in [Removal::Overwrite, Removal::Delete] {
        check_killed_removals(removal).await;
    }
}

async fn check_killed_removals(removal: Removal) {
    let ground = TestArchive::start().await;
    let (mut messages, mut keys) = (Vec::new(), Vec::new());
    for n in 0..CONVERSATIONS {
        let id = format!("c-{n}");
        messages.extend(ground.conversation(&id).await);
        keys.push(key(&id));
    }
    let draft = ground.draft().await.hibernating(keys.iter().cloned().collect());
    let segment = draft.seal(&messages, NOW).await.unwrap();
    assert_eq!(segment.sealed.hibernated, 24);
    let waiting = ground.archive.trim(segment.clone(), LastCommits::Keep, removal).await.unwrap();
    assert_eq!((waiting.waiting, waiting.hibernated), (24, 0));

    let mut appended = [0_u64; CONVERSATIONS];
    for kill in 0..KILLS {
        let trim = ground.archive.trim(segment.clone(), LastCommits::Remove, removal);
        let cut = tokio::time::timeout(Duration::from_millis(3 * u64::from(kill)), trim);
        // Two appends to each of some conversations at once.
        let some = (0..CONVERSATIONS).filter(|n| n % 8 == usize::try_from(kill % 8).unwrap());
        let appends = some.flat_map(|n| [n, n]).map(async |n| {
            let is_first = say(&ground.archive, &keys[n]).await;
            (n, u64::from(is_first))
        });
        let (_, outcomes) = tokio::join!(cut, join_all(appends));
        for (n, count) in outcomes {
            appended[n] += count;
        }
    }
    let ended = ground.archive.trim(segment, LastCommits::Remove, removal);
    assert_eq!(ended.await.unwrap().waiting, 0);
    for (key, appended) in keys.iter().zip(appended) {
        assert!(appended >= 2, "{}: {appended}", key.conversation);
        let expected: Vec<u64> = (1..=3 + appended).collect();
        assert_eq!(versions(&ground.archive, key).await, expected, "{}", key.conversation);
    }
}

/// The result of a removal that a server has forgotten.
#[tokio::test]
async fn a_commit_before_the_archived_last_one_is_not_the_last() {
    let ground = TestArchive::start().await;
    let messages = ground.conversation("c").await;
    let record = ground.archive.record();
    let draft = ground.draft().await.hibernating([key("c")].into());
    draft.seal(&messages, NOW).await.unwrap();
    let last = messages[2].sequence();
    assert_eq!(record.trim(&key("c"), &[last], Removal::Overwrite).await, Ok(1));
    let recorded = record.last_from_leader(&key("c")).await.unwrap().unwrap();
    assert_eq!(recorded.position.sequence, messages[1].sequence());
    let archive = Archive::of(record);
    let found = archive.last_commit(&key("c")).await.unwrap().unwrap();
    assert_eq!(found.position.sequence, last);
    assert!(say(&archive, &key("c")).await);
    assert_eq!(archive.last_commit(&key("c")).await.unwrap().unwrap().position.sequence, Sequence(4));
    assert_eq!(archive.last_commit(&key("d")).await, Ok(None));
}

/// Pairs of ids whose keys have the same hash in memory.
fn equal_hashes() -> Vec<[String; 2]> {
    let mut ids = HashMap::new();
    let pairs = (0..400_000).filter_map(|n| {
        let id = format!("c-{n}");
        let mut hasher = DefaultHasher::new();
        key(&id).hash(&mut hasher);
        let other = ids.insert(hasher.finish() >> 32, id.clone())?;
        Some([other, id])
    });
    pairs.collect()
}

#[tokio::test]
async fn keys_with_equal_hashes_are_distinguished() {
    let [both, [alone, missing], ..] = &equal_hashes()[..] else {
        panic!("fewer than two pairs");
    };
    let ground = TestArchive::start().await;
    let ids = [&both[0], &both[1], alone];
    let mut messages = Vec::new();
    for id in ids {
        messages.extend(ground.conversation(id).await);
    }
    let draft = ground.draft().await.hibernating(ids.map(|id| key(id)).into());
    let segment = draft.seal(&messages, NOW).await.unwrap();
    let removed = ground.archive.trim(segment, LastCommits::Remove, Removal::Overwrite).await;
    assert_eq!(removed.unwrap().hibernated, 3);
    let archive = Archive::of(ground.archive.record());
    for (id, sequence) in ids.into_iter().zip([3, 6, 9]) {
        let last = archive.last_commit(&key(id)).await.unwrap().unwrap();
        assert_eq!(last.position.sequence, Sequence(sequence), "{id}");
    }
    assert_eq!(archive.last_commit(&key(missing)).await, Ok(None));
}

/// A new process knows no partition; each conversation has two candidates after the growth.
#[tokio::test]
async fn a_woken_conversation_stays_in_its_partition_of_a_grown_record() {
    let ground = TestArchive::start().await;
    let ids: Vec<String> = (0..8).map(|n| format!("c-{n}")).collect();
    let mut messages = Vec::new();
    for id in &ids {
        messages.extend(ground.conversation(id).await);
    }
    let record = ground.archive.record();
    record.announce_partitions(4, &[]).await.unwrap();
    while record.layout().stage() != Stage::Open {
        record.advance_layout().await.unwrap();
    }
    let keys = ids.iter().map(|id| key(id)).collect();
    let draft = ground.draft().await.hibernating(keys);
    let segment = draft.seal(&messages, NOW).await.unwrap();
    let removed = ground.archive.trim(segment, LastCommits::Remove, Removal::Overwrite).await;
    assert_eq!(removed.unwrap().hibernated, 8);
    let config = RecordConfig { partitions: 1, ..RecordConfig::new(ground.server.url()) };
    let other = Archive::of(&Record::open(config).await.unwrap());
    for key in ids.iter().map(|id| key(id)) {
        assert!(say(&other, &key).await);
        assert_eq!(other.partition_of(&key).await, Ok(PARTITION));
        let last = record.last_from_leader(&key).await.unwrap().unwrap();
        assert_eq!(last.position.partition, PARTITION);
        assert_eq!(versions(&other, &key).await, [1, 2, 3, 4]);
    }
}
