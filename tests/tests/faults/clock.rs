//! A writer's clock jumps ahead and back; another writer's clock is correct.
//!
//! The clock is that of a real process, changed with libfaketime, which is preloaded. The test is skipped without the
//! library. Monotonic time continues, as when a machine's clock is set.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::fixture::Fixture;
use crate::injection::run_with_faults;
use crate::table::{Obstacle, permitted};
use crate::workload::{HOT, Journal};

/// The variable of the library, `libfaketime.so.1`, from Debian's `libfaketime` or the wheel of that name.
const VARIABLE: &str = "FAULT_FAKETIME";
/// The path on Debian.
const DEBIAN: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
/// The clock's offsets in turn, in seconds: an hour; beyond and within the age window of keys; a month; and none.
const JUMPS: [&str; 6] = ["+3600", "-3600", "+540", "-540", "+2592000", "+0"];
/// Acknowledgements between two jumps.
const AFTER: usize = 60;

#[tokio::test(flavor = "multi_thread")]
async fn writer_clock_jumps() {
    let title = "a writer's clock jumps by minutes, an hour and a month, ahead and back";
    let Some(library) = permitted(title, library()) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let hand = folder.path().join("hand");
    set(&hand, "+0");
    let mut litter = LibraryFiles::default();
    let mut fixture = Fixture::start().await;
    // Only the first writer: the clock of the second one is correct.
    let writer = &mut fixture.stack.writer;
    writer.kill();
    writer.settings.variables = variables(&library, &hand);
    writer.start().await;
    litter.0 = writer.process().map(|process| process.id());
    let mut retried = 0;
    let run = run_with_faults(&mut fixture, &[()], async |_, load, ()| {
        for jump in JUMPS {
            let mut client = load.client();
            let pending = client.pending_append(HOT);
            let outcome = client.settle(pending.clone()).await;
            // The retry uses the writer with the changed clock, which may lag far behind the time of the key.
            client.endpoints.writers.truncate(1);
            set(&hand, jump);
            // The retries have another journal, because the command was requested once.
            client.endpoints.journal = Arc::new(Journal::new());
            let again = client.settle(pending).await;
            assert_eq!(again, outcome, "a retry after a jump to {jump} s");
            retried += 1;
            load.wait_for_acknowledgements(AFTER).await;
        }
    });
    let run = run.await.with("jumps, each with a retry that got the first answer", retried.to_string());
    run.check(title, &mut fixture).await;
}

/// The process with the changed clock. When dropped, the files that the library leaves of a killed process are removed.
#[derive(Default)]
struct LibraryFiles(Option<u32>);

impl Drop for LibraryFiles {
    fn drop(&mut self) {
        for name in ["faketime_shm_", "sem.faketime_sem_"] {
            let pid = self.0.unwrap_or_default();
            let _not_there = fs::remove_file(format!("/dev/shm/{name}{pid}"));
        }
    }
}

fn library() -> Result<PathBuf, Obstacle> {
    let named = std::env::var_os(VARIABLE).map_or(PathBuf::from(DEBIAN), PathBuf::from);
    let absent = || Obstacle::Tool(format!("no libfaketime at {}: name it in {VARIABLE}", named.display()));
    named.exists().then(|| named.clone()).ok_or_else(absent)
}

fn variables(library: &Path, hand: &Path) -> Vec<(String, String)> {
    let text = |path: &Path| path.to_str().expect("a path in UTF-8").to_owned();
    let variables = [
        ("LD_PRELOAD", text(library)),
        ("FAKETIME_TIMESTAMP_FILE", text(hand)),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ("NO_FAKE_STAT", "1".to_owned()),
    ];
    variables.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Sets the clock atomically, because the writer may read it at any time.
fn set(hand: &Path, jump: &str) {
    let next = hand.with_extension("next");
    fs::write(&next, format!("{jump}\n")).and_then(|()| fs::rename(&next, hand)).expect("a clock's hand");
}
