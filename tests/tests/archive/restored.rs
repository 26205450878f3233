//! A record that is restored from a backup finds its segments, also those that were written anew since.

use std::fs;
use std::path::{Path, PathBuf};

use devstack::NatsServer;
use event_log::{Record, RecordConfig};
use serde_json::Value;

use crate::ground::{Ground, TENANT, files};
use crate::old::key;

/// A backup, what was erased after it, and a copy of the segments as they are then.
struct Backup {
    folder: PathBuf,
    receipts: PathBuf,
    copy: PathBuf,
    server: NatsServer,
}

impl Backup {
    async fn take(ground: &Ground, erased: &[&str]) -> Self {
        ground.fill(6, 10).await;
        ground.archive().await;
        let folder = |name: &str| ground.folder.path().join(name);
        let (backup, receipts, copy) = (folder("backup"), folder("receipts"), folder("copy"));
        fs::create_dir(&receipts).unwrap();
        ground.run(&format!("backup {}", backup.display()), 0).await;
        for id in erased {
            let receipt = receipts.join(format!("{id}.json"));
            let line = format!("erase conversation {id} --tenant {TENANT} --receipt");
            ground
                .run(&format!("{line} {}", receipt.display()), 0)
                .await;
        }
        copy_all(&ground.segments(), &copy);
        Self {
            folder: backup,
            receipts,
            copy,
            server: devstack::test::nats().await,
        }
    }

    /// Where the restored record and its segments are.
    fn place(&self) -> String {
        let (url, copy) = (self.server.url(), self.copy.display());
        format!("--nats-url {url} --archive file://{copy}")
    }

    fn restore(&self) -> String {
        let (backup, receipts) = (self.folder.display(), self.receipts.display());
        format!(
            "restore {backup} --json --receipts {receipts} {}",
            self.place()
        )
    }

    /// Restores it, when nothing keeps it from that.
    async fn restored(&self, ground: &Ground) -> Value {
        let told = ground.lines(&self.restore(), 0).await.remove(0);
        let verify = format!("archive verify {}", self.place());
        ground.run(&verify, 0).await;
        let again = ground.run(&self.restore(), 1).await.stderr;
        assert!(again.contains("already has a stream"), "{again}");
        told
    }

    async fn commits(&self, ground: &Ground, id: &str) -> usize {
        let place = self.place();
        let read = format!("archive read --tenant {TENANT} --conversation {id} {place}");
        ground.run(&read, 0).await.stdout.lines().count()
    }
}

#[tokio::test]
async fn a_restored_record_finds_its_segments_and_erases_again() {
    let ground = Ground::start().await;
    let backup = Backup::take(&ground, &["old-1"]).await;
    let told = backup.restored(&ground).await;
    assert_eq!(told["conversationsErased"], 1, "{told:?}");
    assert!(told["segmentsFound"].as_u64().unwrap() > 0, "{told:?}");
    for (id, commits) in [("old-1", 0), ("old-2", 10)] {
        assert_eq!(backup.commits(&ground, id).await, commits, "{id}");
    }
    // The record that the backup was taken of has lost nothing by it.
    ground.run("archive verify", 0).await;
    ground.projected(ground.stack.servers.database_url()).await;
    ground.verify().await;
}

#[tokio::test]
async fn a_restore_looks_for_segments_before_it_changes_anything() {
    let ground = Ground::start().await;
    let backup = Backup::take(&ground, &["old-1"]).await;
    let away = backup.copy.with_extension("away");
    fs::rename(&backup.copy, &away).unwrap();
    for line in [format!("{} --dry-run", backup.restore()), backup.restore()] {
        let refused = ground.run(&line, 1).await.stderr;
        assert!(refused.contains("nothing was changed"), "{refused}");
        assert!(refused.contains("bring them back"), "{refused}");
    }
    fs::rename(&away, &backup.copy).unwrap();
    let told = backup.restored(&ground).await;
    assert_eq!(
        (&told["conversationsErased"], &told["resumed"]),
        (&1.into(), &false.into())
    );
}

#[tokio::test]
async fn a_restore_that_was_cut_short_goes_on_and_erases() {
    let ground = Ground::start().await;
    let backup = Backup::take(&ground, &["old-1"]).await;
    // As a backup was of before it named its segments, so that what is missing is seen when the streams are there.
    let manifest = backup.folder.join("manifest.json");
    let mut text: Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    let named = text.as_object_mut().unwrap().remove("catalogue");
    assert!(named.is_some_and(|named| named[0]["sealed"]["object"].is_string()));
    fs::write(&manifest, text.to_string()).unwrap();
    let away = backup.copy.with_extension("away");
    fs::rename(&backup.copy, &away).unwrap();
    for _ in 0..2 {
        let failed = ground.run(&backup.restore(), 1).await.stderr;
        for told in [
            "1 erasures may still have to be repeated",
            "run the same command again",
            "bring them back",
        ] {
            assert!(failed.contains(told), "{failed}");
        }
    }
    fs::rename(&away, &backup.copy).unwrap();
    let told = backup.restored(&ground).await;
    assert_eq!(
        (&told["conversationsErased"], &told["resumed"]),
        (&1.into(), &true.into())
    );
    let config = RecordConfig {
        partitions: ground.record.partitions(),
        ..RecordConfig::new(backup.server.url())
    };
    let record = Record::open(config).await.unwrap();
    assert_eq!(record.commits_of(&key("old-1")).await, Ok(1));
    assert_eq!(backup.commits(&ground, "old-2").await, 10);
}

#[tokio::test]
async fn a_segment_that_erasures_emptied_is_not_missed() {
    let ground = Ground::start().await;
    let ids: Vec<String> = (0..6).map(|n| format!("old-{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let backup = Backup::take(&ground, &ids).await;
    ground
        .run(
            &format!(
                "archive verify --archive file://{}",
                ground.segments().display()
            ),
            0,
        )
        .await;
    let told = backup.restored(&ground).await;
    assert_eq!(
        (&told["conversationsErased"], &told["segmentsFound"]),
        (&6.into(), &0.into())
    );
}

fn copy_all(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(file, target).unwrap();
    }
}
