//! Erases a tenant with real conversations under load of another tenant.
//!
//! A first part of the chitchat data set by default. All 7,168 conversations and 258,145 messages:
//! `cargo test --release -p tests --test erasure real_data -- --ignored --nocapture`.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tests::agent::Agent;
use tests::chitchat;
use tests::events::user;
use tests::import;
use tests::stack::Setup;

use crate::cli::{check, json};

/// How many conversations the default test imports.
const PART: usize = 150;
const WRITERS: usize = 4;

/// Appends to one conversation until the end; returns the number of appends.
async fn keep_appending(agent: Agent, name: String, stop: Arc<AtomicBool>) -> u64 {
    let mut version = agent.create(&name).await.version;
    while !stop.load(Ordering::Relaxed) {
        version = agent.append(&name, vec![user("still here")]).await.version;
    }
    version
}

async fn check_erased(limit: usize) {
    let stack = Setup::processes(tests::program!()).start().await;
    let (agent, other) = (stack.agent("acme", "demo").await, stack.agent("other", "busy").await);
    let imported = import::chitchat(&tests::program!(), &stack, &agent, limit).await;
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..WRITERS)
        .map(|n| tokio::spawn(keep_appending(other.clone(), format!("c-{n}"), Arc::clone(&stop))))
        .collect();
    let folder = tempfile::tempdir().expect("a folder");
    let receipt = folder.path().join("receipt.json").display().to_string();
    let began = Instant::now();
    let report = json(&stack, &format!("erase tenant acme --receipt {receipt} --json")).await;
    let took = began.elapsed();
    let entries = report["signed"]["receipt"]["conversations"].as_array();
    assert_eq!(entries.map(Vec::len), Some(limit));
    assert_eq!((&report["commits"], &report["signed"]["receipt"]["rows"]), (&imported["commits"], &"gone".into()));
    check(&stack, &format!("erase verify-receipt {receipt}"), 0).await;
    stop.store(true, Ordering::Relaxed);
    let mut appended = 0;
    for (n, writer) in writers.into_iter().enumerate() {
        let version = writer.await.expect("a writer");
        assert_eq!(other.version(&format!("c-{n}")).await, version);
        appended += version;
    }
    let line = format!(
        "erased {limit} conversations, {} commits, {} messages, rows and all, in {took:?}, beside {appended} appends\n",
        report["commits"], imported["messages"]
    );
    // Printed for runs with `--nocapture`.
    let _closed = std::io::stderr().lock().write_all(line.as_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_is_erased_under_load() {
    check_erased(PART).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: all 258,145 messages"]
async fn all_of_it_is_erased_under_load() {
    check_erased(chitchat::CONVERSATIONS).await;
}
