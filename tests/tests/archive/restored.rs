//! A record that is restored from a backup finds its segments, also those that were written anew since.

use std::fs;
use std::path::Path;

use crate::ground::{Ground, TENANT, files};

#[tokio::test]
async fn a_restored_record_finds_its_segments_and_erases_again() {
    let ground = Ground::start().await;
    ground.fill(6, 10).await;
    ground.archive().await;
    let folder = |name: &str| ground.folder.path().join(name);
    let (backup, receipts, copy) = (folder("backup"), folder("receipts"), folder("copy"));
    fs::create_dir(&receipts).unwrap();
    ground.run(&format!("backup {}", backup.display()), 0).await;
    let erase = format!(
        "erase conversation old-1 --tenant {TENANT} --receipt {}/old-1.json",
        receipts.display()
    );
    ground.run(&erase, 0).await;
    copy_all(&ground.segments(), &copy);

    let server = devstack::test::nats().await;
    let elsewhere = format!(
        "--nats-url {} --archive file://{}",
        server.url(),
        copy.display()
    );
    let restore = format!(
        "restore {} --json --receipts {}",
        backup.display(),
        receipts.display()
    );
    let told = ground.lines(&format!("{restore} {elsewhere}"), 0).await;
    assert_eq!(told[0]["conversationsErased"], 1, "{told:?}");
    assert!(told[0]["segmentsFound"].as_u64().unwrap() > 0, "{told:?}");
    ground.run(&format!("archive verify {elsewhere}"), 0).await;
    for (id, lines) in [("old-1", 0), ("old-2", 10)] {
        let read = format!("archive read --tenant {TENANT} --conversation {id} {elsewhere}");
        assert_eq!(
            ground.run(&read, 0).await.stdout.lines().count(),
            lines,
            "{id}"
        );
    }
    // The record that the backup was taken of has lost nothing by it.
    ground.run("archive verify", 0).await;
    ground.projected(ground.stack.servers.database_url()).await;
    ground.verify().await;
}

fn copy_all(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(file, target).unwrap();
    }
}
