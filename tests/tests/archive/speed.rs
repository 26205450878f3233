//! The speed of archiving commits, and of projecting archived commits.

use std::time::Instant;

use crate::fixture::Fixture;

const CONVERSATIONS: usize = 400;
const MESSAGES: usize = 50;

/// Run it in a release build: `cargo test --release -p tests --test archive speed -- --ignored --nocapture`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn speed() {
    let fixture = Fixture::start().await;
    fixture.fill(CONVERSATIONS, MESSAGES).await;
    let before = fixture.size_bytes().await;
    let summary = fixture.archive().await;
    let commits = u32::try_from(CONVERSATIONS * MESSAGES).expect("a number of commits");
    let rate = |seconds: f64| f64::from(commits) / seconds;
    let seconds = summary["seconds"].as_f64().expect("seconds");
    let (after, stored) = (fixture.size_bytes().await, summary["sizeBytes"].as_u64());
    println!(
        "archived {} commits in {seconds:.1} s, {:.0}/s; the record's streams: {before} bytes before, {after} after, {stored:?} in segments",
        summary["commits"],
        rate(seconds),
    );
    for line in ["archive verify", "verify", "rebuild conversations"] {
        let began = Instant::now();
        fixture.run(line, 0).await;
        let took = began.elapsed().as_secs_f64();
        println!("{line}: {took:.1} s, {:.0} commits/s", rate(took));
    }
}
