//! Clocks of processes that are wrong.
//!
//! The clock is that of a real process, changed with libfaketime, which is preloaded. Tests are skipped without the library.
//! Monotonic time continues, as when a machine's clock is set.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tests::node::Node;

use crate::table::Obstacle;

/// The variable of the library, `libfaketime.so.1`, from Debian's `libfaketime` or the wheel of that name.
const VARIABLE: &str = "FAULT_FAKETIME";
/// The path on Debian.
const DEBIAN: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

/// The clock of a process. When dropped, the files that the library leaves of a killed process are removed.
pub(crate) struct WrongClock {
    folder: TempDir,
    process: u32,
}

impl WrongClock {
    /// Starts a role again with a clock of its own, which is correct at first.
    pub(crate) async fn of(node: &mut Node, library: &Path) -> Self {
        let mut clock = Self { folder: tempfile::tempdir().expect("a folder"), process: 0 };
        clock.set(0);
        node.kill();
        node.settings.variables.extend(clock.variables(library));
        node.start().await;
        clock.process = node.process().expect("a running process").id();
        clock
    }

    /// The variables of a process with this clock.
    pub(crate) fn variables(&self, library: &Path) -> Vec<(String, String)> {
        variables(library, &self.hand())
    }

    fn hand(&self) -> PathBuf {
        self.folder.path().join("hand")
    }

    /// Sets the clock atomically, because the writer may read it at any time.
    pub(crate) fn set(&self, offset_s: i64) {
        let next = self.folder.path().join("next");
        fs::write(&next, format!("{offset_s:+}\n"))
            .and_then(|()| fs::rename(&next, self.hand()))
            .expect("a clock's hand");
    }
}

impl Drop for WrongClock {
    fn drop(&mut self) {
        for name in ["faketime_shm_", "sem.faketime_sem_"] {
            let _not_there = fs::remove_file(format!("/dev/shm/{name}{}", self.process));
        }
    }
}

/// The path of the library.
pub(crate) fn library() -> Result<PathBuf, Obstacle> {
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
