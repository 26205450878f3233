//! A shell beside each child. It kills the child and removes its folder when the test process dies.
//!
//! Only the test process holds the other end of the shell's stdin; the system closes it when the process dies.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Reads a process id, waits for the end of the pipe, kills, and cleans up.
const SCRIPT: &str = r#"
if read -r pid; then
    while read -r _; do :; done
    kill -s KILL "$pid"
fi
rm -rf -- "$1"
"#;

/// Waits for the end of the pipe, unmounts, and cleans up. The watchdog of a server on the mount ends the server first.
const UNMOUNT: &str = r#"
while read -r _; do :; done
tenths=0
until umount "$1" 2>/dev/null || ! mountpoint -q "$1" || [ "$tenths" -ge 150 ]; do
    sleep 0.1
    tenths=$((tenths + 1))
done
if mountpoint -q "$1"; then umount -l "$1"; fi
rm -rf --one-file-system -- "$2"
"#;

/// The child starts after its watchdog knows its process id, so it never outlives the test.
pub(crate) const GATE: &str = r#"read -r _ && exec "$0" "$@" </dev/null"#;

/// When dropped, it ends without touching the child.
#[derive(Debug)]
pub(crate) struct Watchdog {
    shell: Child,
}

impl Watchdog {
    /// `litter` is the folder to remove.
    pub(crate) fn start(litter: &Path) -> Self {
        Self::run(SCRIPT, &[litter])
    }

    /// Watches a mount, which may not exist yet, and its folder.
    pub(crate) fn of_mount(mount: &Path, litter: &Path) -> Self {
        Self::run(UNMOUNT, &[mount, litter])
    }

    fn run(script: &str, arguments: &[&Path]) -> Self {
        let shell = Command::new("/bin/sh")
            .args(["-c", script, "watchdog"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("a shell");
        Self { shell }
    }

    /// Sets the process id of the child; called once.
    pub(crate) fn watch(&mut self, pid: u32) {
        let stdin = self.shell.stdin.as_mut().expect("a pipe");
        writeln!(stdin, "{pid}").expect("a watchdog");
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // Killed before its pipe closes, so that it does not take the normal end for a crash.
        let _ended_by_itself = self.shell.kill();
        let _collected = self.shell.wait();
    }
}
