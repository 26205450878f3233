//! What is erased is in no segment either, and no rebuild brings it back.

use std::fs;

use event_log::ArchiveEntry;
use serde_json::json;
use tests::eventually::eventually;

use crate::ground::{Ground, TENANT, files};
use crate::old::Old;

/// A text that no compression takes apart: it stands in a segment's blocks only packed, so what is looked for is the word of
/// the program.
const SECRET: &str = "the-codeword-is-cerulean-and-stands-alone";

async fn reads(ground: &Ground, id: &str) -> String {
    let folder = ground.segments();
    let line = format!(
        "archive read --tenant {TENANT} --conversation {id} --from file://{}",
        folder.display()
    );
    ground.run(&line, 0).await.stdout
}

fn in_nats(ground: &Ground) -> usize {
    let folder = ground.stack.servers.nats().folder();
    let holds = |file: &std::path::PathBuf| {
        fs::read(file).is_ok_and(|bytes| {
            bytes
                .windows(SECRET.len())
                .any(|window| window == SECRET.as_bytes())
        })
    };
    files(folder).iter().filter(|file| holds(file)).count()
}

async fn secret(ground: &Ground, id: &str) {
    let mut one = Old::named(id);
    one.say(&ground.record, 100, "").await;
    for _ in 0..3 {
        one.say(&ground.record, 100, SECRET).await;
    }
    one.say(&ground.record, 100, "goodbye").await;
}

/// What an erasure would do is told as it will be, archived commits too; and that it would refuse where they are away.
async fn planned(ground: &Ground) {
    let planned = format!("erase conversation by-operator --tenant {TENANT} --dry-run --json");
    let told = ground.lines(&planned, 0).await;
    let counts = (
        &told[0]["commits"],
        &told[0]["archived"],
        &told[0]["refuses"],
    );
    assert_eq!(counts, (&1.into(), &4.into(), &json!([])));
    let told = ground
        .lines(&format!("{planned} --archive file:///nowhere"), 0)
        .await;
    assert!(told[0]["archived"].is_null(), "{told:?}");
    let refuses = told[0]["refuses"][0].as_str().expect("a refusal");
    assert!(refuses.contains("cannot be reached"), "{refuses}");
}

/// What a caller erases is told until it is swept.
async fn erased_by_a_caller(ground: &Ground) {
    ground
        .agent
        .try_erase(ground.agent.target("by-door"))
        .await
        .expect("an erasure");
    let found = ground.lines("archive sweep --dry-run --json", 0).await;
    assert_eq!(
        (&found[0]["erased"], &found[0]["swept"]),
        (&1.into(), &false.into())
    );
    let named = ground.lines("archive verify --json", 5).await;
    let found = (&named[0]["kind"], &named[0]["of"]);
    assert_eq!(
        found,
        (&"erased".into(), &format!("{TENANT}/by-door").into())
    );
    assert_eq!(reads(ground, "by-door").await.matches(SECRET).count(), 3);
    let swept = ground.lines("archive sweep --json", 0).await;
    assert_eq!(swept[0]["commits"], 4, "{swept:?}");
    assert_eq!(reads(ground, "by-door").await, "");
}

#[tokio::test]
async fn what_is_erased_is_nowhere() {
    let ground = Ground::start().await;
    for id in ["by-operator", "by-door"] {
        secret(&ground, id).await;
    }
    ground.fill(6, 10).await;
    assert!(in_nats(&ground) > 0, "the search finds nothing");
    ground.archive().await;
    assert_eq!(
        in_nats(&ground),
        0,
        "what was archived is not left in the record's files"
    );
    for id in ["by-operator", "by-door"] {
        assert_eq!(reads(&ground, id).await.matches(SECRET).count(), 3, "{id}");
    }
    let segments = ground.lines("archive list --json", 0).await.len();

    planned(&ground).await;
    let receipt = ground.folder.path().join("receipt.json");
    let line = format!(
        "erase conversation by-operator --tenant {TENANT} --json --receipt {}",
        receipt.display()
    );
    let erased = ground.lines(&line, 0).await;
    assert_eq!(erased[0]["archived"], 4, "{erased:?}");
    assert_eq!(reads(&ground, "by-operator").await, "");
    ground
        .run(&format!("erase verify-receipt {}", receipt.display()), 0)
        .await;

    erased_by_a_caller(&ground).await;

    assert!(ground.files().len() <= segments);
    assert_eq!(in_nats(&ground), 0);
    ground.run("archive verify", 0).await;
    ground.projected(ground.stack.servers.database_url()).await;
    ground.verify().await;
    ground.run("rebuild conversations", 0).await;
    ground.verify().await;
    for id in ["by-operator", "by-door"] {
        let target = ground.agent.read_target(id);
        let gone = ground.agent.try_get(target).await.expect_err("nothing");
        assert_eq!(gone.code(), tonic::Code::NotFound);
    }
    assert_eq!(ground.texts("old-2").await.len(), 10);
}

#[tokio::test]
async fn a_run_sweeps_first_and_a_detached_fork_keeps_its_archived_past() {
    let ground = Ground::start().await;
    let parent = Old::named("parent").chat(&ground.record, 6).await;
    let mut fork = Old::fork("child", &parent, 5);
    fork.say(&ground.record, 100, "").await;
    fork.say(&ground.record, 100, "aside").await;
    fork.say(&ground.record, 100, "and on").await;
    secret(&ground, "swept").await;
    let url = ground.stack.servers.database_url();
    ground.projected(url).await;
    let before = ground.texts("child").await;
    assert_eq!(before.len(), 6, "{before:?}");
    ground.archive().await;

    ground
        .agent
        .try_erase(ground.agent.target("swept"))
        .await
        .expect("an erasure");
    let told = ground.archive().await;
    assert_eq!(told["sweptCommits"], 4, "{told}");
    assert_eq!(reads(&ground, "swept").await, "");

    let line = format!("erase conversation parent --tenant {TENANT} --forks detach --json");
    ground.run(&line, 0).await;
    eventually("the copy", || async {
        let texts = ground.texts("child-detached").await;
        (texts == before).then_some(())
    })
    .await;
    for id in ["parent", "child"] {
        assert_eq!(reads(&ground, id).await, "", "{id}");
    }
    ground.projected(url).await;
    ground.run("archive verify", 0).await;
    ground.verify().await;
}

#[tokio::test]
async fn what_a_killed_writer_or_nobody_knows_of_is_told() {
    let ground = Ground::start().await;
    secret(&ground, "c").await;
    ground.projected(ground.stack.servers.database_url()).await;
    ground.archive().await;
    let entries = ground.record.archive_entries(None).await;
    let sealed = entries.expect("a catalogue").remove(0).entry;
    let object = sealed.sealed.clone().expect("a segment").object;
    let file = ground.segments().join(&object);
    let bytes = fs::read(&file).expect("an object");
    let receipt = ground.folder.path().join("receipt.json");
    let receipt = receipt.display();
    ground
        .run(
            &format!("erase conversation c --tenant {TENANT} --receipt {receipt}"),
            0,
        )
        .await;
    let store = format!("--archive file://{}", ground.segments().display());
    ground.run(&format!("archive verify {store}"), 0).await;

    // A run that was killed as it wrote, just when the erasure had withdrawn its segment.
    let left = ArchiveEntry {
        sealed: None,
        loose: vec![object.clone()],
        ..sealed
    };
    let put = ground.record.put_archive_entry(&left, None).await;
    put.expect("an entry");
    fs::write(&file, &bytes).expect("an object");
    let verify = format!("erase verify-receipt {receipt}");
    let told = ground.run(&verify, 5).await.stdout;
    assert!(told.contains("not erased: c"), "{told}");
    ground.run("archive sweep", 0).await;
    ground.run(&verify, 0).await;
    assert!(!file.exists());

    // What no entry names at all, where there is no entry at all.
    fs::write(&file, &bytes).expect("an object");
    let found = ground
        .lines(&format!("archive verify --json {store}"), 5)
        .await;
    assert_eq!(
        (&found[0]["kind"], &found[0]["of"]),
        (&"object_unknown".into(), &object.clone().into())
    );
    let told = ground
        .lines(&format!("archive sweep --json {store}"), 0)
        .await;
    assert_eq!(told[0]["unknown"], json!([object]));
}
