//! Segments that are damaged, lost or moved.

use std::fs;

use crate::fixture::Fixture;

#[tokio::test]
async fn corrupt_segments_are_reported_and_not_projected() {
    let fixture = Fixture::start().await;
    fixture.fill(6, 20).await;
    fixture.archive().await;
    fixture.run("archive verify", 0).await;
    let segments = fixture.lines("archive list --json", 0).await;
    let victim = &segments[0];
    let file = fixture.segments().join(victim["object"].as_str().unwrap());
    let bytes = fs::read(&file).unwrap();
    for place in [0, 20, 40, bytes.len() / 2, bytes.len() - 70, bytes.len() - 1] {
        let mut damaged = bytes.clone();
        damaged[place] ^= 4;
        fs::write(&file, &damaged).unwrap();
        check_finding(&fixture, victim["segment"].as_str().unwrap(), "segment_corrupt").await;
    }
    let refused = fixture.run("rebuild conversations", 1).await;
    assert!(refused.stderr.contains("is corrupt"), "{refused:?}");
    fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    check_finding(&fixture, victim["segment"].as_str().unwrap(), "segment_corrupt").await;

    fs::write(&file, &bytes).unwrap();
    check_moved_store(&fixture, victim["segment"].as_str().unwrap()).await;
    fixture.run("archive run --older-than 0d --to file:///x", 2).await;
    fixture.run("archive run --older-than 9d --to http://x", 2).await;
    check_unknown_object(&fixture).await;
}

/// The record is complete when a run ended between a segment and its trimming. It stays complete while the segment is
/// damaged.
#[tokio::test]
async fn commits_of_corrupt_segments_stay_in_the_record() {
    let fixture = Fixture::start().await;
    fixture.fill(6, 20).await;
    fixture.archive().await;
    let catalogued = fixture.record.archive_entries(None).await.unwrap();
    let mut sealed = catalogued.into_iter().next().unwrap();
    let segment = sealed.entry.sealed.as_mut().unwrap();
    segment.is_trimmed = false;
    let file = fixture.segments().join(&segment.object);
    fixture.record.put_archive_entry(&sealed.entry, Some(sealed.revision)).await.unwrap();
    let bytes = fs::read(&file).unwrap();
    let mut damaged = bytes.clone();
    damaged[40] ^= 4;
    fs::write(&file, &damaged).unwrap();
    let run = format!("archive run --older-than 90d --to file://{}", fixture.segments().display());
    let refused = fixture.run(&run, 1).await;
    assert!(refused.stderr.contains("is corrupt"), "{refused:?}");
    fs::write(&file, &bytes).unwrap();
    fixture.run(&run, 0).await;
    let entries = fixture.record.archive_entries(None).await.unwrap();
    let mut sealed = entries.iter().filter_map(|one| one.entry.sealed.as_ref());
    assert!(sealed.all(|segment| segment.is_trimmed));
}

/// A moved store is reported as missing; it is found at its new URL.
async fn check_moved_store(fixture: &Fixture, segment: &str) {
    let away = fixture.folder.path().join("away");
    fs::rename(fixture.segments(), &away).unwrap();
    check_finding(fixture, segment, "segment_missing").await;
    for line in ["rebuild conversations", "verify"] {
        let refused = fixture.run(line, 1).await;
        assert!(refused.stderr.contains("cannot be reached"), "{refused:?}");
    }
    let schemas = fixture.lines("rebuild list --json", 0).await;
    assert_eq!(schemas.len(), 1, "nothing was started: {schemas:?}");
    let moved = format!("--archive file://{}", away.display());
    fixture.run(&format!("archive verify {moved}"), 0).await;
    fixture.summary(&format!("verify --json {moved}")).await;
    fixture.run(&format!("rebuild conversations {moved}"), 0).await;
    fs::rename(&away, fixture.segments()).unwrap();
}

/// Unknown objects are reported.
async fn check_unknown_object(fixture: &Fixture) {
    fixture.run("archive verify", 0).await;
    let known = fixture.files().remove(0);
    let other = known.with_extension("copy.segment");
    fs::copy(&known, &other).unwrap();
    let found = fixture.lines("archive verify --json", 5).await;
    assert_eq!(found[0]["kind"], "object_unknown", "{found:?}");
    fs::remove_file(other).unwrap();
}

async fn check_finding(fixture: &Fixture, segment: &str, kind: &str) {
    let found = fixture
        .lines("archive verify --json", 5)
        .await
        .iter()
        .any(|line| line["kind"] == kind && line["of"] == segment);
    assert!(found, "{kind} of {segment}");
}
