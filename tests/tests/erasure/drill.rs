//! The disaster drill: a backup under load, erasures after it, destruction of the store, a restore, and checks.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use domain::{ConversationKey, Status};
use event_log::Record;
use tests::agent::Agent;
use tests::checker::{self, RecordContents, RecordedCommit, Rows};
use tests::events::{session, user, user_owner};
use tests::eventually::eventually;
use tests::stack::{Setup, Stack};

use crate::cli::{check, conversation, fork, in_nats, json, run};

const SECRET: &str = "the-codeword-is-periwinkle";
/// Read by forks that lose it when a caller erases their parent.
const SEVERED: &str = "the-lighthouse-is-empty";
/// The prefix of the ids of these parents and forks.
const SEVERED_PREFIX: &str = "severed-";
const RESTORED: &str = "restored";

/// Appends to conversations until the end; returns the number of appends.
async fn keep_appending(agent: Agent, name: String, stop: Arc<AtomicBool>) -> usize {
    agent.create(&name).await;
    let mut appended = 0;
    while !stop.load(Ordering::Relaxed) {
        agent.append(&name, vec![user(format!("{name} says {appended}"))]).await;
        appended += 1;
    }
    appended
}

async fn read(stack: &Stack) -> RecordContents {
    let record = Record::open(tests::settings::record(&stack.servers)).await;
    RecordContents::read(&record.expect("a record")).await.expect("commits")
}

/// Conversations before the backup.
async fn load(agent: &Agent) {
    for n in 0..20 {
        let texts: Vec<String> = (0..4).map(|m| format!("conversation {n} says {m}")).collect();
        conversation(agent, &format!("c-{n}"), session("s"), &texts).await;
    }
    let secrets = vec![SECRET.to_owned(); 3];
    for (id, owner) in [
        ("before", session("s")),
        ("after", session("s")),
        ("by-ada", user_owner("ada")),
        ("by-the-door", session("s")),
    ] {
        conversation(agent, id, owner, &secrets).await;
    }
    fork(agent, "fork", "c-1", 3).await;
    agent.append("fork", vec![user("aside")]).await;
    conversation(agent, "parent", session("s"), &["shared".to_owned()]).await;
    fork(agent, "child", "parent", 2).await;
    for parent in ["severed-before", "severed-after"] {
        let child = format!("{parent}-child");
        let text = format!("{SEVERED} by {parent}");
        conversation(agent, parent, session("s"), &[text]).await;
        fork(agent, &child, parent, 2).await;
        agent.append(&child, vec![user("of its own")]).await;
    }
    for erased in ["before", "severed-before"] {
        agent.try_erase(agent.target(erased)).await.expect("an erasure");
    }
}

/// Takes a backup while conversations are written.
async fn back_up(stack: &Stack, agent: &Agent, folder: &Path) -> usize {
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> =
        (0..4).map(|n| tokio::spawn(keep_appending(agent.clone(), format!("hot-{n}"), Arc::clone(&stop)))).collect();
    eventually("conversations that are written to", || async { agent.try_get(agent.read_target("hot-3")).await.ok() })
        .await;
    let backup = json(stack, &format!("backup {} --json", folder.display())).await;
    assert_eq!(backup["streams"].as_array().map(Vec::len), Some(19));
    stop.store(true, Ordering::Relaxed);
    let mut appended = 0;
    for writer in writers {
        appended += writer.await.expect("a writer");
    }
    appended
}

/// Erasures after the backup: by operators with receipts, and by a caller, which only the ledger has. A key that the backup
/// does not contain signs the ledger; returns it.
async fn erase(stack: &Stack, agent: &Agent, receipts: &Path) -> String {
    let receipts = receipts.display();
    let line = "--tenant acme --no-rows --receipt";
    check(stack, &format!("erase conversation after {line} {receipts}/after.json"), 0).await;
    check(stack, &format!("erase user ada {line} {receipts}/ada.json"), 0).await;
    let with_forks = "erase conversation parent --forks erase";
    check(stack, &format!("{with_forks} {line} {receipts}/parent.json"), 0).await;
    for erased in ["by-the-door", "severed-after"] {
        agent.try_erase(agent.target(erased)).await.expect("an erasure");
    }
    check(stack, "receipt-key rotate", 0).await;
    let ledger = format!("erase ledger {receipts}/ledger.json");
    check(stack, &ledger, 0).await;
    assert_eq!(in_nats(stack, &[SECRET, SEVERED]), [""; 0]);
    let keys = check(stack, "receipt-key list", 0).await.stdout;
    let newest = keys.lines().last().expect("a key");
    let public_key = newest.split_whitespace().nth(1);
    public_key.expect("a public key").to_owned()
}

/// Checks that a restored conversation equals its state at the moment of the backup.
fn check_restored(key: &ConversationKey, restored: &[RecordedCommit], was: &[RecordedCommit]) {
    let is_hot = key.conversation.as_str().starts_with("hot-");
    let is_erased = |commits: &[RecordedCommit]| {
        commits.last().is_some_and(|last| last.opened.commit.head.status == Status::Erased)
    };
    assert_eq!(is_erased(restored), is_erased(was), "{key:?}");
    if is_erased(was) {
        assert_eq!(restored.len(), 1, "{key:?}");
        return;
    }
    assert!(is_hot || restored.len() == was.len(), "{key:?}");
    assert!(restored.len() <= was.len(), "{key:?}");
    for (restored, was) in restored.iter().zip(was) {
        assert_eq!(restored.position, was.position, "{key:?}");
        assert_eq!(restored.opened.body, was.opened.body, "{key:?}");
        assert_eq!(restored.opened.commit, was.opened.commit, "{key:?}");
    }
}

async fn destroy_store(stack: &mut Stack) {
    for node in [&mut stack.gateway, &mut stack.projector, &mut stack.writer] {
        node.stop().await;
    }
    let nats = stack.servers.nats_mut();
    nats.kill();
    fs::remove_dir_all(nats.folder().join("store")).expect("a store");
    nats.restart().await.expect("NATS again");
}

async fn restore(stack: &Stack, backup: &Path, receipts: &Path, newest_key: &str) {
    let line = format!("restore {} --receipts {} --json", backup.display(), receipts.display());
    let refused = check(stack, &line, 1).await.stderr;
    for named in ["ledger.json is signed by the key", newest_key, "--receipt-key"] {
        assert!(refused.contains(named), "{refused}");
    }
    check(stack, &format!("{line} --receipt-key {SECRET}"), 2).await;
    let line = format!("{line} --receipt-key {newest_key}");
    let report = json(stack, &format!("{line} --dry-run")).await;
    assert_eq!((&report["restored"], &report["conversationsErased"]), (&false.into(), &0.into()));
    let report = json(stack, &line).await;
    assert_eq!((&report["restored"], &report["conversationsErased"]), (&true.into(), &8.into()));
    let refused = check(stack, &line, 1).await;
    assert!(refused.stderr.contains("already has a stream"), "{refused:?}");
}

/// Checks that the record is consistent, the rows equal its fold, readers get answers, and writers continue.
async fn check_system(stack: &mut Stack, agent: &Agent, was: &RecordContents) {
    let postgres = stack.servers.postgres_mut();
    postgres.create_database(RESTORED).await.expect("a database");
    let (url, psql) = (postgres.database_url(RESTORED), postgres.tool("psql"));
    for node in [&mut stack.writer, &mut stack.projector, &mut stack.gateway] {
        let settings = &mut node.settings;
        settings.writer.read_model.database_url.clone_from(&url);
        settings.projector.read_model.database_url.clone_from(&url);
        settings.gateway.read_model.primary.database_url.clone_from(&url);
    }
    stack.start().await;
    let restored = read(stack).await;
    assert_eq!(checker::check_commits(&restored), []);
    assert_eq!(restored.conversations.len(), was.conversations.len());
    for (key, commits) in &restored.conversations {
        check_restored(key, commits, &was.conversations[key]);
    }
    for (key, commits) in &restored.conversations {
        let head = &commits.last().expect("a commit").opened.commit.head;
        let id = key.conversation.as_str();
        if id.starts_with(SEVERED_PREFIX) {
            // As before the restore: their inherited events are gone.
            assert!(agent.try_get(agent.read_target(id)).await.is_err(), "{id}");
        } else if head.status != Status::Erased {
            agent.wait_for_rows(id, head.version.0).await;
        }
    }
    eventually("rows that are the fold of the record", || async {
        let rows = Rows::read(&psql, &url).await.ok()?;
        checker::check_rows(&restored, &rows).is_empty().then_some(())
    })
    .await;
    assert_eq!(in_nats(stack, &[SECRET, SEVERED]), [""; 0]);
    assert_eq!(agent.events(agent.list_request("fork")).await.len(), 5);
    agent.append("c-0", vec![user("on")]).await;
    agent.append("hot-0", vec![user("on")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn restored_records_omit_erased_conversations() {
    let folder = tempfile::tempdir().expect("a folder");
    let (backup, receipts) = (folder.path().join("backup"), folder.path().join("receipts"));
    fs::create_dir(&receipts).expect("a folder");
    let mut stack = Setup::tasks().with_own_postgres().start().await;
    let agent = stack.agent("acme", "support").await;
    load(&agent).await;
    let appended = back_up(&stack, &agent, &backup).await;
    assert!(appended > 0);
    let again = run(&stack, &format!("backup {}", backup.display())).await;
    assert!(again.stderr.contains("is not empty"), "{again:?}");
    let newest_key = erase(&stack, &agent, &receipts).await;
    let was = read(&stack).await;

    destroy_store(&mut stack).await;
    restore(&stack, &backup, &receipts, &newest_key).await;
    check_system(&mut stack, &agent, &was).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_backups_change_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (backup, receipts) = (folder.path().join("backup"), folder.path().join("receipts"));
    fs::create_dir(&receipts).expect("a folder");
    let mut stack = Setup::tasks().with_own_postgres().start().await;
    let agent = stack.agent("acme", "support").await;
    load(&agent).await;
    check(&stack, &format!("backup {}", backup.display()), 0).await;
    let newest_key = erase(&stack, &agent, &receipts).await;
    destroy_store(&mut stack).await;
    let line = format!("restore {} --receipts {} --receipt-key {newest_key}", backup.display(), receipts.display());
    let spoil = async |file: &Path, change: &dyn Fn(Vec<u8>) -> Vec<u8>, complaint: &str| {
        let whole = fs::read(file).expect("a file");
        fs::write(file, change(whole.clone())).expect("a file");
        let ended = check(&stack, &line, 1).await;
        assert!(ended.stderr.contains(complaint), "{ended:?}");
        fs::write(file, whole).expect("a file");
    };
    let flip = |mut bytes: Vec<u8>| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        bytes
    };
    spoil(&backup.join("HANSARD_3.archive"), &flip, "HANSARD_3.archive differs from the manifest").await;
    spoil(&backup.join("manifest.json"), &|_| b"{}".to_vec(), "is not a manifest").await;
    let rename = |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).expect("text");
        text.replace("\"by-ada\"", "\"by-bob\"").into_bytes()
    };
    spoil(&receipts.join("ada.json"), &rename, "ada.json was changed").await;
    restore(&stack, &backup, &receipts, &newest_key).await;
}
