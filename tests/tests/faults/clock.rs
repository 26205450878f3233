//! A writer's clock that jumps, ahead and back, while another writer's goes right.
//!
//! The clock is that of a real process, moved by libfaketime, which is preloaded: a test that cannot find it is skipped.
//! Monotonic time goes on as it is, as it does when a machine's clock is set.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::ground::Ground;
use crate::strike::bout;
use crate::table::permitted;
use crate::workload::{HOT, Journal};

/// Names the library, `libfaketime.so.1`, from Debian's `libfaketime` or the wheel of that name.
const VARIABLE: &str = "FAULT_FAKETIME";
/// Where Debian puts it.
const DEBIAN: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
/// Where the writer's clock jumps to, in turn, from the right time, in seconds: an hour, past and into the window in which
/// keys tell their own age, a month, and right again.
const JUMPS: [&str; 6] = ["+3600", "-3600", "+540", "-540", "+2592000", "+0"];
/// Acknowledgements between two jumps.
const AFTER: usize = 60;

#[tokio::test(flavor = "multi_thread")]
async fn a_writers_clock_jumps() {
    let title = "a writer's clock jumps by minutes, an hour and a month, ahead and back";
    let Some(library) = permitted(title, library()) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let hand = folder.path().join("hand");
    set(&hand, "+0");
    let mut litter = Litter::default();
    let mut ground = Ground::start().await;
    // The first writer alone: the second one's clock goes right.
    let writer = &mut ground.stack.writer;
    writer.kill();
    writer.settings.variables = variables(&library, &hand);
    writer.start().await;
    litter.0 = writer.process().map(|process| process.id());
    let mut retried = 0;
    let bout = bout(&mut ground, &[()], async |_, load, ()| {
        for jump in JUMPS {
            let mut client = load.client();
            let pending = client.draught(HOT);
            let told = client.settle(pending.clone()).await;
            // The retry is by the writer whose clock jumps, however far ahead of it the key is dated then.
            client.doors.writers.truncate(1);
            set(&hand, jump);
            // What is tried again is written down in a journal of its own: it was asked for once.
            client.doors.journal = Arc::new(Journal::new());
            let again = client.settle(pending).await;
            assert_eq!(again, told, "a retry after a jump to {jump} s");
            retried += 1;
            load.acknowledged(AFTER).await;
        }
    });
    let bout = bout.await;
    let bout = bout.with(
        "jumps, each with a retry that got the first answer",
        retried.to_string(),
    );
    bout.judge(title, &mut ground).await;
}

/// The process whose clock was moved. Dropped: what the library leaves of a process that is killed is gone.
#[derive(Default)]
struct Litter(Option<u32>);

impl Drop for Litter {
    fn drop(&mut self) {
        for name in ["faketime_shm_", "sem.faketime_sem_"] {
            let pid = self.0.unwrap_or_default();
            let _not_there = fs::remove_file(format!("/dev/shm/{name}{pid}"));
        }
    }
}

fn library() -> Result<PathBuf, String> {
    let named = std::env::var_os(VARIABLE).map_or(PathBuf::from(DEBIAN), PathBuf::from);
    let absent = || {
        format!(
            "no libfaketime at {}: name it in {VARIABLE}",
            named.display()
        )
    };
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
    variables
        .map(|(name, value)| (name.to_owned(), value))
        .into()
}

/// Moves the hand of the clock; whole or not at all, since the writer reads it at any time.
fn set(hand: &Path, jump: &str) {
    let next = hand.with_extension("next");
    fs::write(&next, format!("{jump}\n"))
        .and_then(|()| fs::rename(&next, hand))
        .expect("a clock's hand");
}
