//! Disks of a test's own for a server's store: one that fills up, and one whose power fails. Both need root.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::eventually::eventually_true;
use crate::folder;
use crate::watchdog::Watchdog;

/// Where a nats-server in [`Disk::folder`] keeps its store.
const STORE: &str = "store";
const IMAGE: &str = "image";
const BALLAST: &str = "ballast";
const BALLAST_CHUNK_BYTES: usize = 64 * 1024;
/// `EXT4_IOC_SHUTDOWN` with `EXT4_GOING_FLAGS_NOLOGFLUSH`: nothing that is not on the disk gets there any more. Safe Rust
/// knows no such call.
const SHUT_DOWN: &str = "import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack('I', 2))";

/// What a disk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A folder of the machine's.
    Plain,
    /// A tmpfs of so many bytes.
    Memory(u64),
    /// An ext4 in a file.
    Journalled,
}

/// A folder for a server, whose store is on a file system of its own. Dropped: unmounted and removed; also when the test's
/// process dies.
#[derive(Debug)]
pub struct Disk {
    kind: Kind,
    store: PathBuf,
    folder: TempDir,
    _watchdog: Watchdog,
}

impl Disk {
    /// Without a file system of its own; needs nothing.
    ///
    /// # Panics
    /// When there is no folder to be had.
    #[must_use]
    pub fn plain() -> Self {
        Self::make(Kind::Plain)
    }

    /// In memory, of so many bytes.
    ///
    /// # Errors
    /// Why the machine does not permit it.
    pub fn small(bytes: u64) -> Result<Self, String> {
        let disk = Self::make(Kind::Memory(bytes));
        disk.mount()?;
        Ok(disk)
    }

    /// An ext4 of so many bytes, on a loop device.
    ///
    /// # Errors
    /// Why the machine does not permit it.
    pub fn journalled(bytes: u64) -> Result<Self, String> {
        let disk = Self::make(Kind::Journalled);
        let image = disk.image();
        let made = File::create(&image).and_then(|file| file.set_len(bytes));
        made.map_err(|error| error.to_string())?;
        run("mkfs.ext4", &["-q".as_ref(), &image])?;
        disk.mount()?;
        Ok(disk)
    }

    fn make(kind: Kind) -> Self {
        let folder = folder::enterable();
        let store = folder.path().join(STORE);
        fs::create_dir(&store).expect("a folder");
        Self {
            kind,
            _watchdog: Watchdog::of_mount(&store, folder.path()),
            store,
            folder,
        }
    }

    /// The folder for the server: its log and its configuration stay on the machine's own disk.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join(IMAGE)
    }

    fn mount(&self) -> Result<(), String> {
        match self.kind {
            Kind::Plain => Ok(()),
            Kind::Memory(bytes) => {
                let size = format!("size={bytes}");
                let arguments = ["-t", "tmpfs", "-o", &size, "tmpfs"].map(Path::new);
                run("mount", &[&arguments[..], &[&self.store]].concat())
            }
            Kind::Journalled => {
                let arguments = [
                    Path::new("-o"),
                    Path::new("loop"),
                    &self.image(),
                    &self.store,
                ];
                run("mount", &arguments)
            }
        }
    }

    /// Everything is on the disk now.
    ///
    /// # Panics
    /// When the system refuses.
    pub fn sync(&self) {
        run("sync", &["-f".as_ref(), &self.store]).expect("a synced disk");
    }

    /// The power fails: what is not on the disk yet is lost, and nothing is written or read any more.
    ///
    /// # Panics
    /// When the disk is none of [`Disk::journalled`].
    pub fn cut_power(&self) {
        assert_eq!(self.kind, Kind::Journalled, "a disk that can be shut down");
        run("python3", &["-c".as_ref(), SHUT_DOWN.as_ref(), &self.store]).expect("a power failure");
    }

    /// The power is back: what was on the disk is there again. The server must have ended.
    ///
    /// # Panics
    /// When the disk is still in use, or cannot be mounted.
    pub async fn restore_power(&self) {
        let unmounted = || run("umount", &[&self.store]).is_ok();
        eventually_true("a disk that nobody uses", unmounted).await;
        self.mount().expect("a disk with power");
    }

    /// Fills it to the last byte; also again, when some of it became free.
    ///
    /// # Panics
    /// When it cannot be written to for another reason.
    pub fn fill(&self) {
        let ballast = File::options()
            .create(true)
            .append(true)
            .open(self.store.join(BALLAST));
        let mut ballast = ballast.expect("ballast");
        let mut chunk = vec![b'x'; BALLAST_CHUNK_BYTES];
        while !chunk.is_empty() {
            match ballast.write_all(&chunk) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                    chunk.truncate(chunk.len() / 2);
                }
                Err(error) => panic!("a disk that cannot be filled: {error}"),
            }
        }
    }

    /// Undoes [`Disk::fill`].
    ///
    /// # Panics
    /// When the system refuses.
    pub fn clear(&self) {
        fs::remove_file(self.store.join(BALLAST)).expect("no ballast");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.kind != Kind::Plain && run("umount", &[&self.store]).is_err() {
            let _not_mounted = run("umount", &["-l".as_ref(), &self.store]);
        }
    }
}

/// Runs a program of the system to its end; what it says of its failure.
fn run(program: &str, arguments: &[&Path]) -> Result<(), String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().next().unwrap_or(program).to_owned())
}
