//! A record that is restored from a backup finds its segments, including those rewritten since.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use devstack::NatsServer;
use event_log::{Record, RecordConfig};
use serde_json::Value;

use crate::fixture::{Fixture, TENANT, files};
use crate::old_conversations::key;

/// A backup, the erasures after it, and a copy of the segments at that time.
struct Backup {
    folder: PathBuf,
    receipts: PathBuf,
    copy: PathBuf,
    server: NatsServer,
}

impl Backup {
    async fn take(fixture: &Fixture, erased: &[&str]) -> Self {
        fixture.fill(6, 10).await;
        fixture.archive().await;
        let folder = |name: &str| fixture.folder.path().join(name);
        let (backup, receipts, copy) = (folder("backup"), folder("receipts"), folder("copy"));
        fs::create_dir(&receipts).unwrap();
        fixture.run(&format!("backup {}", backup.display()), 0).await;
        for id in erased {
            let receipt = receipts.join(format!("{id}.json"));
            let line = format!("erase conversation {id} --tenant {TENANT} --receipt");
            fixture.run(&format!("{line} {}", receipt.display()), 0).await;
        }
        for folder in [&backup, &receipts, &fixture.segments()] {
            check_private(folder);
        }
        copy_all(&fixture.segments(), &copy);
        Self { folder: backup, receipts, copy, server: devstack::test::nats().await }
    }

    /// The restored record and its segments.
    fn place(&self) -> String {
        let (url, copy) = (self.server.url(), self.copy.display());
        format!("--nats-url {url} --archive file://{copy}")
    }

    fn restore(&self) -> String {
        let (backup, receipts) = (self.folder.display(), self.receipts.display());
        format!("restore {backup} --json --receipts {receipts} {}", self.place())
    }

    /// Restores the backup successfully; returns the summary.
    async fn restore_successfully(&self, fixture: &Fixture) -> Value {
        let summary = fixture.lines(&self.restore(), 0).await.remove(0);
        let verify = format!("archive verify {}", self.place());
        fixture.run(&verify, 0).await;
        let again = fixture.run(&self.restore(), 1).await.stderr;
        assert!(again.contains("already has a stream"), "{again}");
        summary
    }

    async fn commits(&self, fixture: &Fixture, id: &str) -> usize {
        let place = self.place();
        let read = format!("archive read --tenant {TENANT} --conversation {id} {place}");
        fixture.run(&read, 0).await.stdout.lines().count()
    }
}

#[tokio::test]
async fn restored_records_find_segments_and_repeat_erasures() {
    let fixture = Fixture::start().await;
    let backup = Backup::take(&fixture, &["old-1"]).await;
    let summary = backup.restore_successfully(&fixture).await;
    assert_eq!(summary["conversationsErased"], 1, "{summary:?}");
    assert!(summary["segmentsFound"].as_u64().unwrap() > 0, "{summary:?}");
    for (id, commits) in [("old-1", 0), ("old-2", 10)] {
        assert_eq!(backup.commits(&fixture, id).await, commits, "{id}");
    }
    // The original record is unchanged.
    fixture.run("archive verify", 0).await;
    fixture.wait_for_rows(fixture.stack.servers.database_url()).await;
    fixture.verify().await;
}

#[tokio::test]
async fn restores_check_segments_before_changes() {
    let fixture = Fixture::start().await;
    let backup = Backup::take(&fixture, &["old-1"]).await;
    let away = backup.copy.with_extension("away");
    fs::rename(&backup.copy, &away).unwrap();
    for line in [format!("{} --dry-run", backup.restore()), backup.restore()] {
        let refused = fixture.run(&line, 1).await.stderr;
        assert!(refused.contains("nothing was changed"), "{refused}");
        assert!(refused.contains("bring them back"), "{refused}");
    }
    fs::rename(&away, &backup.copy).unwrap();
    let summary = backup.restore_successfully(&fixture).await;
    assert_eq!((&summary["conversationsErased"], &summary["resumed"]), (&1.into(), &false.into()));
}

#[tokio::test]
async fn interrupted_restores_resume_and_erase() {
    let fixture = Fixture::start().await;
    let backup = Backup::take(&fixture, &["old-1"]).await;
    // A manifest of an older version without segments, so that missing ones are found after the streams are restored.
    let manifest = backup.folder.join("manifest.json");
    let mut text: Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    let named = text.as_object_mut().unwrap().remove("catalogue");
    assert!(named.is_some_and(|named| named[0]["sealed"]["object"].is_string()));
    fs::write(&manifest, text.to_string()).unwrap();
    let away = backup.copy.with_extension("away");
    fs::rename(&backup.copy, &away).unwrap();
    for _ in 0..2 {
        let failed = fixture.run(&backup.restore(), 1).await.stderr;
        for message in ["1 erasures may still have to be repeated", "run the same command again", "bring them back"] {
            assert!(failed.contains(message), "{failed}");
        }
    }
    fs::rename(&away, &backup.copy).unwrap();
    let summary = backup.restore_successfully(&fixture).await;
    assert_eq!((&summary["conversationsErased"], &summary["resumed"]), (&1.into(), &true.into()));
    let config = RecordConfig { partitions: fixture.record.partitions(), ..RecordConfig::new(backup.server.url()) };
    let record = Record::open(config).await.unwrap();
    assert_eq!(record.commits_of(&key("old-1")).await, Ok(1));
    assert_eq!(backup.commits(&fixture, "old-2").await, 10);
}

#[tokio::test]
async fn emptied_segments_are_not_reported_missing() {
    let fixture = Fixture::start().await;
    let ids: Vec<String> = (0..6).map(|n| format!("old-{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let backup = Backup::take(&fixture, &ids).await;
    fixture.run(&format!("archive verify --archive file://{}", fixture.segments().display()), 0).await;
    let summary = backup.restore_successfully(&fixture).await;
    assert_eq!((&summary["conversationsErased"], &summary["segmentsFound"]), (&6.into(), &0.into()));
}

/// Only their owner may read the files of a folder, which has some.
fn check_private(folder: &Path) {
    let files = files(folder);
    assert!(!files.is_empty(), "{}", folder.display());
    for file in files {
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
}

fn copy_all(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(file, target).unwrap();
    }
}
