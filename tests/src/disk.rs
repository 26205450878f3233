//! Disks for the store of a server: one of limited size, and one whose power can fail. Both need root.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::eventually::eventually_true;
use crate::folder;
use crate::watchdog::Watchdog;

/// The store's folder in [`Disk::folder`].
const STORE: &str = "store";
const IMAGE: &str = "image";
const BALLAST: &str = "ballast";
const BALLAST_CHUNK_BYTES: usize = 64 * 1024;
/// `EXT4_IOC_SHUTDOWN` with `EXT4_GOING_FLAGS_NOLOGFLUSH`: nothing more is written to the disk. Safe Rust has no such
/// call.
const SHUT_DOWN: &str = "import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack('I', 2))";

/// The kind of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A folder of the machine.
    Plain,
    /// A tmpfs of this size in bytes.
    Memory(u64),
    /// An ext4 file system in a file.
    Journalled,
}

/// A folder for a server, with the store on a separate file system. Unmounted and removed when dropped, and also when
/// the test process dies.
#[derive(Debug)]
pub struct Disk {
    kind: Kind,
    store: PathBuf,
    folder: TempDir,
    _watchdog: Watchdog,
}

impl Disk {
    /// Without a separate file system; needs no privileges.
    ///
    /// # Panics
    /// When the folder cannot be created.
    #[must_use]
    pub fn plain() -> Self {
        Self::make(Kind::Plain)
    }

    /// In memory, of this size in bytes.
    ///
    /// # Errors
    /// The reason why the machine does not permit it.
    pub fn small(bytes: u64) -> Result<Self, String> {
        let disk = Self::make(Kind::Memory(bytes));
        disk.mount()?;
        Ok(disk)
    }

    /// An ext4 file system of this size in bytes, on a loop device.
    ///
    /// # Errors
    /// The reason why the machine does not permit it.
    pub fn journalled(bytes: u64) -> Result<Self, String> {
        let disk = Self::make(Kind::Journalled);
        let image = disk.image();
        File::create(&image).and_then(|file| file.set_len(bytes)).map_err(|error| error.to_string())?;
        run("mkfs.ext4", &["-q".as_ref(), &image])?;
        disk.mount()?;
        Ok(disk)
    }

    fn make(kind: Kind) -> Self {
        let folder = folder::enterable();
        let store = folder.path().join(STORE);
        fs::create_dir(&store).expect("a folder");
        Self { kind, _watchdog: Watchdog::of_mount(&store, folder.path()), store, folder }
    }

    /// The folder for the server; its log and its configuration are on the machine's disk.
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
                let arguments = [Path::new("-o"), Path::new("loop"), &self.image(), &self.store];
                run("mount", &arguments)
            }
        }
    }

    /// Syncs everything to the disk.
    ///
    /// # Panics
    /// When the system refuses.
    pub fn sync(&self) {
        run("sync", &["-f".as_ref(), &self.store]).expect("a synced disk");
    }

    /// The power fails: unsynced data is lost, and reads and writes fail.
    ///
    /// # Panics
    /// When the disk is none of [`Disk::journalled`].
    pub fn cut_power(&self) {
        assert_eq!(self.kind, Kind::Journalled, "a disk that can be shut down");
        run("python3", &["-c".as_ref(), SHUT_DOWN.as_ref(), &self.store]).expect("a power failure");
    }

    /// The power is back: the synced data is there again. The server must have stopped.
    ///
    /// # Panics
    /// When the disk is still in use, or cannot be mounted.
    pub async fn restore_power(&self) {
        let unmounted = || run("umount", &[&self.store]).is_ok();
        eventually_true("a disk that nobody uses", unmounted).await;
        self.mount().expect("a disk with power");
    }

    /// Fills the disk to the last byte; can be called again after space became free.
    ///
    /// # Panics
    /// When a write fails for another reason.
    pub fn fill(&self) {
        let mut ballast = File::options().create(true).append(true).open(self.store.join(BALLAST)).expect("ballast");
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

/// Runs a program of the system to its end; returns the first line of its error.
fn run(program: &str, arguments: &[&Path]) -> Result<(), String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(stderr.lines().next().unwrap_or(program).to_owned())
}
