//! How fast commits leave the record, and come back into rows.

use std::time::Instant;

use crate::ground::Ground;

const CONVERSATIONS: usize = 400;
const MESSAGES: usize = 50;

/// Run it in a release build: `cargo test --release -p tests --test archive speed -- --ignored --nocapture`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn speed() {
    let ground = Ground::start().await;
    ground.fill(CONVERSATIONS, MESSAGES).await;
    let before = ground.size_bytes().await;
    let told = ground.archive().await;
    let commits = u32::try_from(CONVERSATIONS * MESSAGES).expect("a number of commits");
    let rate = |seconds: f64| f64::from(commits) / seconds;
    let seconds = told["seconds"].as_f64().expect("seconds");
    let (after, stored) = (ground.size_bytes().await, told["sizeBytes"].as_u64());
    println!(
        "archived {} commits in {seconds:.1} s, {:.0}/s; the record's streams: {before} bytes before, {after} after, {stored:?} in segments",
        told["commits"],
        rate(seconds),
    );
    for line in ["archive verify", "verify", "rebuild conversations"] {
        let began = Instant::now();
        ground.run(line, 0).await;
        let took = began.elapsed().as_secs_f64();
        println!("{line}: {took:.1} s, {:.0} commits/s", rate(took));
    }
}
