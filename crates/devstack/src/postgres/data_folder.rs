//! The data folder of Postgres: its creation, also as a copy of a running server, and its lock file.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::USER;
use super::config::Profile;
use super::database::Address;
use crate::account::Account;
use crate::error::{StackError, storage, unrunnable};
use crate::process_table;
use crate::step::{Progress, ServerName, Step};
use crate::supervise::{Launch, Supervised, log_path, reason};
use crate::watchdog::StopSignal;

const DATA_FOLDER: &str = "data";
/// It is renamed to the data folder, so that a killed program leaves no incomplete data folder.
const PARTIAL_FOLDER: &str = "data.partial";
const LOCK_FILE: &str = "postmaster.pid";
const DATA_MODE: u32 = 0o700;
const CREATION_LIMIT: Duration = Duration::from_mins(2);
const CREATION_POLL: Duration = Duration::from_millis(5);
const CREATION_SIGNALS: &[StopSignal] = &[StopSignal::INTERRUPT, StopSignal::KILL];

pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join(DATA_FOLDER)
}

/// The content of a new data folder.
#[derive(Debug, Clone, Copy)]
pub(super) enum Content<'a> {
    /// An empty cluster.
    New(Profile),
    /// A copy of this running server, which follows it as a standby.
    CopyOf(Address<'a>),
}

/// Creates the data folder with a program from `programs`, unless it exists.
pub(super) async fn make(
    folder: &Path,
    programs: &Path,
    content: Content<'_>,
    progress: Progress<'_>,
) -> Result<(), StackError> {
    let data = path(folder);
    if data.exists() {
        return Ok(());
    }
    progress(Step::Initialising(ServerName::Postgres));
    let partial = folder.join(PARTIAL_FOLDER);
    make_empty(&partial).map_err(storage(&partial))?;
    Account::for_postgres().own(&partial)?;
    let launch = match content {
        Content::New(profile) => initdb_launch(programs.join("initdb"), &partial, profile),
        Content::CopyOf(server) => copy_launch(programs.join("pg_basebackup"), &partial, server),
    };
    run(folder, launch).await?;
    fs::rename(&partial, &data).map_err(storage(&data))
}

fn make_empty(partial: &Path) -> io::Result<()> {
    if partial.exists() {
        fs::remove_dir_all(partial)?;
    }
    fs::create_dir(partial)?;
    fs::set_permissions(partial, Permissions::from_mode(DATA_MODE))
}

/// Runs a program that creates a data folder.
async fn run(folder: &Path, launch: Launch) -> Result<(), StackError> {
    let mut process = Supervised::spawn(&launch, folder).map_err(unrunnable(&launch.program))?;
    let deadline = Instant::now() + CREATION_LIMIT;
    let failure = loop {
        match process.success() {
            Some(true) => return Ok(()),
            Some(false) => break reason(folder),
            None if Instant::now() > deadline => {
                break format!("its data folder took longer than {} s", CREATION_LIMIT.as_secs());
            }
            None => sleep(CREATION_POLL).await,
        }
    };
    Err(StackError::DidNotStart { server: ServerName::Postgres, reason: failure, log: log_path(folder) })
}

fn initdb_launch(program: PathBuf, data: &Path, profile: Profile) -> Launch {
    let mut arguments = vec!["-D".into(), data.into(), "-U".into(), USER.into()];
    // Only the server's user can enter the folder of the socket, and TCP is for temporary data: there is no password.
    let fixed = ["--auth=trust", "--encoding=UTF8", "--no-instructions"];
    // The order of bytes is the same on every system and in every version.
    let locale = ["--locale-provider=libc", "--locale=C"];
    arguments.extend(fixed.into_iter().chain(locale).map(Into::into));
    if profile == Profile::Test {
        arguments.push("--no-sync".into());
    }
    Launch {
        program,
        arguments,
        account: Account::for_postgres(),
        signals: CREATION_SIGNALS,
        cleanup_folders: Vec::new(),
    }
}

/// Copies a running server, with the log that is written meanwhile and the settings of a standby.
fn copy_launch(program: PathBuf, data: &Path, server: Address<'_>) -> Launch {
    let mut arguments = vec!["-D".into(), data.into(), "-h".into()];
    arguments.push(server.socket_folder.into());
    arguments.extend(["-p".into(), server.port.to_string().into()]);
    arguments.extend(["-U", USER, "--no-password"].map(Into::into));
    let fixed = ["--wal-method=stream", "--write-recovery-conf", "--no-sync"];
    // Without a clean-up, the log ends with the reason of a failure.
    let fixed = fixed.into_iter().chain(["--checkpoint=fast", "--no-clean"]);
    arguments.extend(fixed.map(Into::into));
    Launch {
        program,
        arguments,
        account: Account::for_postgres(),
        signals: CREATION_SIGNALS,
        cleanup_folders: Vec::new(),
    }
}

/// Lets Postgres start although its lock file has the id of a live process that is not a Postgres of this folder: the
/// system has reused the id. Called when no server of this process runs on the folder.
///
/// The file also has the id of the shared memory, which sessions of a killed server may still use and Postgres must
/// check. The file is therefore kept, with the id of this process: Postgres accepts the id of its parent.
pub(super) fn replace_stale_pid(data: &Path) -> Result<(), StackError> {
    let file = data.join(LOCK_FILE);
    let text = fs::read_to_string(&file).unwrap_or_default();
    let lines = text.split_once('\n');
    let Some((pid, rest)) = lines.and_then(|(first, rest)| Some((process_table::parse(first)?, rest))) else {
        return Ok(());
    };
    let marker = format!(" -D {}", data.display());
    let ours = process_table::command_line(pid).is_some_and(|command| command.contains(&marker));
    if ours || !process_table::is_alive(pid) {
        return Ok(());
    }
    fs::write(&file, format!("{}\n{rest}", process::id())).map_err(storage(&file))
}

/// Whether the lock file reports that the server with this process id accepts connections.
pub(super) fn accepts_connections(data: &Path, pid: u32) -> bool {
    const STATE_LINE: usize = 7;
    let Ok(text) = fs::read_to_string(data.join(LOCK_FILE)) else {
        return false;
    };
    let mut lines = text.lines();
    lines.next().is_some_and(|first| first.trim() == pid.to_string())
        && lines.nth(STATE_LINE - 1).is_some_and(|state| state.trim() == "ready")
}
