//! An archive run that is killed repeatedly, during appends to old conversations.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tests::agent::Agent;
use tests::events::user;

use crate::fixture::Fixture;

const CONVERSATIONS: usize = 160;
const MESSAGES: usize = 10;
/// How often a run is killed.
const KILLS: u32 = 14;

#[tokio::test]
async fn killed_runs_lose_and_duplicate_nothing() {
    let fixture = Fixture::start().await;
    fixture.fill(CONVERSATIONS, MESSAGES).await;
    let stop = Arc::new(AtomicBool::new(false));
    let appends = tokio::spawn(keep_appending(fixture.agent.clone(), Arc::clone(&stop)));
    let took = time_to_first_segment(&fixture).await;
    let mut stages = BTreeSet::new();
    for kill in 0..KILLS {
        let mut run = fixture.begin_archive(removal(kill));
        // From before the first step until after the first segment.
        tokio::time::sleep(took.mul_f64(f64::from(kill) * 2.0 / f64::from(KILLS))).await;
        run.kill();
        let entries = fixture.record.archive_entries(None).await.expect("a catalogue");
        stages.extend(entries.iter().map(|one| match &one.entry.sealed {
            None => "begun",
            Some(sealed) if sealed.is_trimmed => "trimmed",
            Some(_) => "sealed",
        }));
    }
    stop.store(true, Ordering::Relaxed);
    let appended = appends.await.expect("appends");
    fixture.wait_for_rows(fixture.stack.servers.database_url()).await;
    fixture.archive().await;

    check_commits(&fixture, appended, &format!("{stages:?}")).await;
    println!("{KILLS} kills, {appended} appends meanwhile, stages seen: {stages:?}");
}

/// Each run continues what the other kind left.
fn removal(kill: u32) -> &'static str {
    if kill.is_multiple_of(2) { "overwrite" } else { "delete" }
}

/// How often a hibernation is killed, and after which times: a run waits 11 s between sealing and removing.
const HIBERNATION_KILLS: u32 = 12;
const SEALING: Duration = Duration::from_secs(2);
const REMOVING: Duration = Duration::from_secs(11);

#[tokio::test]
#[ignore = "takes three minutes; crates/archive/tests/hibernation cuts removals off in CI"]
async fn killed_hibernations_lose_and_duplicate_nothing() {
    let fixture = Fixture::start().await;
    fixture.fill(CONVERSATIONS, MESSAGES).await;
    let stop = Arc::new(AtomicBool::new(false));
    let appends = tokio::spawn(keep_appending(fixture.agent.clone(), Arc::clone(&stop)));
    for kill in 0..HIBERNATION_KILLS {
        let mut run = fixture.begin_hibernation(removal(kill));
        let after = match kill % 3 {
            0 => SEALING.mul_f64(f64::from(kill) / f64::from(HIBERNATION_KILLS)),
            _ => REMOVING + SEALING.mul_f64(f64::from(kill) / f64::from(HIBERNATION_KILLS)),
        };
        tokio::time::sleep(after).await;
        run.kill();
    }
    stop.store(true, Ordering::Relaxed);
    let appended = appends.await.expect("appends");
    let url = fixture.stack.servers.database_url();
    fixture.wait_for_rows(url).await;
    let summary = fixture.hibernate().await;

    check_commits(&fixture, appended, &summary.to_string()).await;
    println!("{HIBERNATION_KILLS} kills, {appended} appends meanwhile; the last run: {summary}");
}

/// Checks that each commit is in the archive or in the record, and that both and the rows are equal.
async fn check_commits(fixture: &Fixture, appended: usize, seen: &str) {
    let archived = check_store(fixture).await;
    let mut recorded = 0;
    for n in 0..CONVERSATIONS {
        recorded += fixture.commits(&format!("old-{n}")).await;
    }
    let all = u64::try_from(CONVERSATIONS * (MESSAGES + 1) + appended).unwrap();
    assert_eq!(archived + recorded, all, "none is lost, none is in two places; seen: {seen}");
    fixture.run("archive verify", 0).await;
    fixture.verify().await;
    fixture.run("rebuild conversations", 0).await;
    fixture.verify().await;
}

/// Checks that the store contains exactly the segments of the catalogue; returns the number of archived commits.
async fn check_store(fixture: &Fixture) -> u64 {
    let segments = fixture.lines("archive list --json", 0).await;
    let object = |one: &Value| one["object"].as_str().unwrap().to_owned();
    let listed: BTreeSet<String> = segments.iter().map(object).collect();
    let root = fixture.segments();
    let name = |file: &PathBuf| file.strip_prefix(&root).unwrap().display().to_string();
    let held: BTreeSet<String> = fixture.files().iter().map(name).collect();
    assert_eq!(held, listed);
    let commits = segments.iter().map(|one| one["commits"].as_u64().unwrap());
    commits.sum()
}

/// The time until a run has its first catalogue entry; the run is killed then.
async fn time_to_first_segment(fixture: &Fixture) -> Duration {
    let begun = Instant::now();
    let mut run = fixture.begin_archive("overwrite");
    tests::eventually::eventually("an entry of the catalogue", || async {
        let entries = fixture.record.archive_entries(None).await.ok()?;
        (!entries.is_empty()).then_some(())
    })
    .await;
    run.kill();
    begun.elapsed()
}

/// Appends to some of the conversations until the end; returns the number of appends.
async fn keep_appending(agent: Agent, stop: Arc<AtomicBool>) -> usize {
    let mut appended = 0;
    while !stop.load(Ordering::Relaxed) {
        let id = format!("old-{}", (appended * 7) % (CONVERSATIONS / 4));
        agent.append(&id, vec![user(format!("late {appended}"))]).await;
        appended += 1;
    }
    appended
}
