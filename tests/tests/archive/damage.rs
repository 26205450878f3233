//! Segments that are spoilt, lost or moved.

use std::fs;

use crate::ground::Ground;

#[tokio::test]
async fn what_is_not_whole_is_named_and_nothing_is_made_from_it() {
    let ground = Ground::start().await;
    ground.fill(6, 20).await;
    ground.archive().await;
    ground.run("archive verify", 0).await;
    let segments = ground.lines("archive list --json", 0).await;
    let victim = &segments[0];
    let file = ground.segments().join(victim["object"].as_str().unwrap());
    let bytes = fs::read(&file).unwrap();
    for place in [
        0,
        20,
        40,
        bytes.len() / 2,
        bytes.len() - 70,
        bytes.len() - 1,
    ] {
        let mut spoilt = bytes.clone();
        spoilt[place] ^= 4;
        fs::write(&file, &spoilt).unwrap();
        named(
            &ground,
            victim["segment"].as_str().unwrap(),
            "segment_corrupt",
        )
        .await;
    }
    let refused = ground.run("rebuild conversations", 1).await;
    assert!(refused.stderr.contains("is corrupt"), "{refused:?}");
    fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    named(
        &ground,
        victim["segment"].as_str().unwrap(),
        "segment_corrupt",
    )
    .await;

    fs::write(&file, &bytes).unwrap();
    moved(&ground, victim["segment"].as_str().unwrap()).await;
    ground
        .run("archive run --older-than 0d --to file:///x", 2)
        .await;
    ground
        .run("archive run --older-than 9d --to http://x", 2)
        .await;
    unknown(&ground).await;
}

/// A run that ended between a segment and its trimming left the record whole: it stays so where the segment is not.
#[tokio::test]
async fn what_is_not_whole_is_not_taken_out_of_the_record() {
    let ground = Ground::start().await;
    ground.fill(6, 20).await;
    ground.archive().await;
    let catalogued = ground.record.archive_entries(None).await.unwrap();
    let mut sealed = catalogued.into_iter().next().unwrap();
    let segment = sealed.entry.sealed.as_mut().unwrap();
    segment.is_trimmed = false;
    let file = ground.segments().join(&segment.object);
    let untrimmed = ground
        .record
        .put_archive_entry(&sealed.entry, Some(sealed.revision));
    untrimmed.await.unwrap();
    let bytes = fs::read(&file).unwrap();
    let mut spoilt = bytes.clone();
    spoilt[40] ^= 4;
    fs::write(&file, &spoilt).unwrap();
    let run = format!(
        "archive run --older-than 90d --to file://{}",
        ground.segments().display()
    );
    let refused = ground.run(&run, 1).await;
    assert!(refused.stderr.contains("is corrupt"), "{refused:?}");
    fs::write(&file, &bytes).unwrap();
    ground.run(&run, 0).await;
    let entries = ground.record.archive_entries(None).await.unwrap();
    let mut sealed = entries.iter().filter_map(|one| one.entry.sealed.as_ref());
    assert!(sealed.all(|segment| segment.is_trimmed));
}

/// A store that is not where the catalogue says is missed, and found again.
async fn moved(ground: &Ground, segment: &str) {
    let away = ground.folder.path().join("away");
    fs::rename(ground.segments(), &away).unwrap();
    named(ground, segment, "segment_missing").await;
    for line in ["rebuild conversations", "verify"] {
        let refused = ground.run(line, 1).await;
        assert!(refused.stderr.contains("cannot be reached"), "{refused:?}");
    }
    let schemas = ground.lines("rebuild list --json", 0).await;
    assert_eq!(schemas.len(), 1, "nothing was begun: {schemas:?}");
    let moved = format!("--archive file://{}", away.display());
    ground.run(&format!("archive verify {moved}"), 0).await;
    ground.summary(&format!("verify --json {moved}")).await;
    ground
        .run(&format!("rebuild conversations {moved}"), 0)
        .await;
    fs::rename(&away, ground.segments()).unwrap();
}

/// An object that the catalogue does not know is told.
async fn unknown(ground: &Ground) {
    ground.run("archive verify", 0).await;
    let known = ground.files().remove(0);
    let other = known.with_extension("copy.segment");
    fs::copy(&known, &other).unwrap();
    let found = ground.lines("archive verify --json", 5).await;
    assert_eq!(found[0]["kind"], "object_unknown", "{found:?}");
    fs::remove_file(other).unwrap();
}

async fn named(ground: &Ground, segment: &str, kind: &str) {
    let found = ground.lines("archive verify --json", 5).await;
    let found = found
        .iter()
        .any(|line| line["kind"] == kind && line["of"] == segment);
    assert!(found, "{kind} of {segment}");
}
