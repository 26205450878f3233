//! Erased texts are in no segment, and no rebuild restores them.

use std::fs;

use event_log::ArchiveEntry;
use serde_json::json;

use crate::fixture::{Fixture, TENANT, files};
use crate::old_conversations::OldConversation;

/// A text that compression does not split: in a segment's blocks it is stored compressed, so the test searches with the
/// program.
const SECRET: &str = "the-codeword-is-cerulean-and-stands-alone";

async fn reads(fixture: &Fixture, id: &str) -> String {
    let folder = fixture.segments();
    let line = format!("archive read --tenant {TENANT} --conversation {id} --from file://{}", folder.display());
    fixture.run(&line, 0).await.stdout
}

fn in_nats(fixture: &Fixture) -> usize {
    let folder = fixture.stack.servers.nats().folder();
    let holds = |file: &std::path::PathBuf| {
        fs::read(file).is_ok_and(|bytes| bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()))
    };
    files(folder).iter().filter(|file| holds(file)).count()
}

async fn secret(fixture: &Fixture, id: &str) {
    let mut one = OldConversation::new(id);
    one.say(&fixture.record, 100, "").await;
    for _ in 0..3 {
        one.say(&fixture.record, 100, SECRET).await;
    }
    one.say(&fixture.record, 100, "goodbye").await;
}

/// A dry run lists archived commits; without the archive it reports that the erasure would be rejected.
async fn check_dry_run(fixture: &Fixture) {
    let dry_run = format!("erase conversation by-operator --tenant {TENANT} --dry-run --json");
    let report = fixture.lines(&dry_run, 0).await;
    let counts = (&report[0]["commits"], &report[0]["archived"], &report[0]["refuses"]);
    assert_eq!(counts, (&1.into(), &4.into(), &json!([])));
    let report = fixture.lines(&format!("{dry_run} --archive file:///nowhere"), 0).await;
    assert!(report[0]["archived"].is_null(), "{report:?}");
    let refuses = report[0]["refuses"][0].as_str().expect("a refusal");
    assert!(refuses.contains("cannot be reached"), "{refuses}");
}

/// An erasure by a caller is listed until the segments are swept.
async fn erase_by_caller(fixture: &Fixture) {
    fixture.agent.try_erase(fixture.agent.target("by-door")).await.expect("an erasure");
    let found = fixture.lines("archive sweep --dry-run --json", 0).await;
    assert_eq!((&found[0]["erased"], &found[0]["swept"]), (&1.into(), &false.into()));
    let named = fixture.lines("archive verify --json", 5).await;
    let found = (&named[0]["kind"], &named[0]["of"]);
    assert_eq!(found, (&"erased".into(), &format!("{TENANT}/by-door").into()));
    assert_eq!(reads(fixture, "by-door").await.matches(SECRET).count(), 3);
    let swept = fixture.lines("archive sweep --json", 0).await;
    assert_eq!(swept[0]["commits"], 4, "{swept:?}");
    assert_eq!(reads(fixture, "by-door").await, "");
}

#[tokio::test]
async fn erased_texts_are_in_no_segment() {
    let fixture = Fixture::start().await;
    for id in ["by-operator", "by-door"] {
        secret(&fixture, id).await;
    }
    fixture.fill(6, 10).await;
    assert!(in_nats(&fixture) > 0, "the search finds nothing");
    fixture.archive().await;
    assert_eq!(in_nats(&fixture), 0, "what was archived is not left in the record's files");
    for id in ["by-operator", "by-door"] {
        assert_eq!(reads(&fixture, id).await.matches(SECRET).count(), 3, "{id}");
    }
    let segments = fixture.lines("archive list --json", 0).await.len();

    check_dry_run(&fixture).await;
    let receipt = fixture.folder.path().join("receipt.json");
    let line = format!("erase conversation by-operator --tenant {TENANT} --json --receipt {}", receipt.display());
    let erased = fixture.lines(&line, 0).await;
    assert_eq!(erased[0]["archived"], 4, "{erased:?}");
    assert_eq!(reads(&fixture, "by-operator").await, "");
    fixture.run(&format!("erase verify-receipt {}", receipt.display()), 0).await;

    erase_by_caller(&fixture).await;

    assert!(fixture.files().len() <= segments);
    assert_eq!(in_nats(&fixture), 0);
    fixture.run("archive verify", 0).await;
    fixture.wait_for_rows(fixture.stack.servers.database_url()).await;
    fixture.verify().await;
    fixture.run("rebuild conversations", 0).await;
    fixture.verify().await;
    for id in ["by-operator", "by-door"] {
        let target = fixture.agent.read_target(id);
        let gone = fixture.agent.try_get(target).await.expect_err("nothing");
        assert_eq!(gone.code(), tonic::Code::NotFound);
    }
    assert_eq!(fixture.texts("old-2").await.len(), 10);
}

#[tokio::test]
async fn archive_runs_sweep_first_and_archived_forks_are_erased_with_their_parents() {
    let fixture = Fixture::start().await;
    let parent = OldConversation::new("parent").chat(&fixture.record, 6).await;
    let mut fork = OldConversation::fork("child", &parent, 5);
    fork.say(&fixture.record, 100, "").await;
    fork.say(&fixture.record, 100, "aside").await;
    fork.say(&fixture.record, 100, "and on").await;
    secret(&fixture, "swept").await;
    let url = fixture.stack.servers.database_url();
    fixture.wait_for_rows(url).await;
    assert_eq!(fixture.texts("child").await.len(), 6);
    fixture.archive().await;

    fixture.agent.try_erase(fixture.agent.target("swept")).await.expect("an erasure");
    let report = fixture.archive().await;
    assert_eq!(report["sweptCommits"], 4, "{report}");
    assert_eq!(reads(&fixture, "swept").await, "");

    let line = format!("erase conversation parent --tenant {TENANT} --forks erase --json");
    fixture.run(&line, 0).await;
    for id in ["parent", "child"] {
        assert_eq!(reads(&fixture, id).await, "", "{id}");
    }
    fixture.wait_for_rows(url).await;
    fixture.run("archive verify", 0).await;
    fixture.verify().await;
}

#[tokio::test]
async fn unknown_objects_are_reported() {
    let fixture = Fixture::start().await;
    secret(&fixture, "c").await;
    fixture.wait_for_rows(fixture.stack.servers.database_url()).await;
    fixture.archive().await;
    let entries = fixture.record.archive_entries(None).await;
    let sealed = entries.expect("a catalogue").remove(0).entry;
    let object = sealed.sealed.clone().expect("a segment").object;
    let file = fixture.segments().join(&object);
    let bytes = fs::read(&file).expect("an object");
    let receipt_path = fixture.folder.path().join("receipt.json");
    let receipt = receipt_path.display();
    fixture.run(&format!("erase conversation c --tenant {TENANT} --receipt {receipt}"), 0).await;
    let store = format!("--archive file://{}", fixture.segments().display());
    fixture.run(&format!("archive verify {store}"), 0).await;

    // State after a run that was killed while it wrote, after the erasure withdrew its segment.
    let left = ArchiveEntry { sealed: None, loose: vec![object.clone()], ..sealed };
    fixture.record.put_archive_entry(&left, None).await.expect("an entry");
    fs::write(&file, &bytes).expect("an object");
    let verify = format!("erase verify-receipt {receipt}");
    let report = fixture.run(&verify, 5).await.stdout;
    assert!(report.contains("not erased: c"), "{report}");
    fixture.run("archive sweep", 0).await;
    fixture.run(&verify, 0).await;
    assert!(!file.exists());

    // An object without any catalogue entry.
    fs::write(&file, &bytes).expect("an object");
    let found = fixture.lines(&format!("archive verify --json {store}"), 5).await;
    assert_eq!((&found[0]["kind"], &found[0]["of"]), (&"object_unknown".into(), &object.clone().into()));
    let report = fixture.lines(&format!("archive sweep --json {store}"), 0).await;
    assert_eq!(report[0]["unknown"], json!([object]));
}
