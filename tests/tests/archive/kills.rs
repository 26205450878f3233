//! A run that is killed again and again, while old conversations are appended to.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tests::agent::Agent;
use tests::events::user;

use crate::ground::Ground;

const CONVERSATIONS: usize = 160;
const MESSAGES: usize = 10;
/// How often a run is killed.
const KILLS: u32 = 14;

#[tokio::test]
async fn a_run_that_is_killed_at_any_moment_loses_and_doubles_nothing() {
    let ground = Ground::start().await;
    ground.fill(CONVERSATIONS, MESSAGES).await;
    let stop = Arc::new(AtomicBool::new(false));
    let appends = tokio::spawn(keep_appending(ground.agent.clone(), Arc::clone(&stop)));
    let took = time_to_first_segment(&ground).await;
    let mut stages = BTreeSet::new();
    for kill in 0..KILLS {
        let mut run = ground.begin_archive();
        // From before its first step to past the first segment.
        tokio::time::sleep(took.mul_f64(f64::from(kill) * 2.0 / f64::from(KILLS))).await;
        run.kill();
        let entries = ground
            .record
            .archive_entries(None)
            .await
            .expect("a catalogue");
        stages.extend(entries.iter().map(|one| match &one.entry.sealed {
            None => "begun",
            Some(sealed) if sealed.is_trimmed => "trimmed",
            Some(_) => "sealed",
        }));
    }
    stop.store(true, Ordering::Relaxed);
    let appended = appends.await.expect("appends");
    ground.projected(ground.stack.servers.database_url()).await;
    ground.archive().await;

    let archived = whole_store(&ground).await;
    let mut recorded = 0;
    for n in 0..CONVERSATIONS {
        recorded += ground.commits(&format!("old-{n}")).await;
    }
    let all = u64::try_from(CONVERSATIONS * (MESSAGES + 1) + appended).unwrap();
    let places = archived + recorded;
    assert_eq!(
        places, all,
        "none is lost, none is in two places; seen: {stages:?}"
    );
    ground.run("archive verify", 0).await;
    ground.verify().await;
    ground.run("rebuild conversations", 0).await;
    ground.verify().await;
    println!("{KILLS} kills, {appended} appends meanwhile, stages seen: {stages:?}");
}

/// The store holds what the catalogue says, and nothing else; how many commits that is.
async fn whole_store(ground: &Ground) -> u64 {
    let segments = ground.lines("archive list --json", 0).await;
    let object = |one: &Value| one["object"].as_str().unwrap().to_owned();
    let listed: BTreeSet<String> = segments.iter().map(object).collect();
    let root = ground.segments();
    let name = |file: &PathBuf| file.strip_prefix(&root).unwrap().display().to_string();
    let held: BTreeSet<String> = ground.files().iter().map(name).collect();
    assert_eq!(held, listed);
    let commits = segments.iter().map(|one| one["commits"].as_u64().unwrap());
    commits.sum()
}

/// How long a run takes until something is in the catalogue; it is killed then.
async fn time_to_first_segment(ground: &Ground) -> Duration {
    let begun = Instant::now();
    let mut run = ground.begin_archive();
    tests::eventually::eventually("an entry of the catalogue", || async {
        let entries = ground.record.archive_entries(None).await.ok()?;
        (!entries.is_empty()).then_some(())
    })
    .await;
    run.kill();
    begun.elapsed()
}

/// Appends to some of the conversations until told to stop; how often.
async fn keep_appending(agent: Agent, stop: Arc<AtomicBool>) -> usize {
    let mut appended = 0;
    while !stop.load(Ordering::Relaxed) {
        let id = format!("old-{}", (appended * 7) % (CONVERSATIONS / 4));
        agent
            .append(&id, vec![user(format!("late {appended}"))])
            .await;
        appended += 1;
    }
    appended
}
