//! `hansard man`: a manual page for every command.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Command;
use clap_mangen::Man;

use crate::exit::Exit;

/// Write the manual pages of all commands into a folder.
///
/// Needs no connection. Replaces pages of the same names. The image has the pages.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard man ~/.local/share/man/man1 && man hansard-chat")]
pub(crate) struct Args {
    /// The folder, which is created if it is missing.
    folder: PathBuf,
}

#[expect(clippy::needless_pass_by_value, reason = "as every command")]
pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let folder = &args.folder;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut command = crate::command().disable_help_subcommand(true);
    command.build();
    write(folder, &command)?;
    Ok(Exit::Done)
}

/// Writes the page of a command and those of its subcommands.
fn write(folder: &Path, command: &Command) -> anyhow::Result<()> {
    let man = Man::new(command.clone());
    let path = folder.join(man.get_filename());
    let mut page = Vec::new();
    man.render(&mut page)
        .and_then(|()| fs::write(&path, &page))
        .with_context(|| format!("cannot write {}", path.display()))?;
    let mut subcommands = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    subcommands.try_for_each(|sub| write(folder, sub))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let folder = tempfile::tempdir().unwrap();
        let pages = folder.path().join("man1");
        let args = || Args { folder: pages.clone() };
        run(args()).unwrap();
        // A second run replaces the pages.
        run(args()).unwrap();
        for command in crate::command().get_subcommands() {
            let page = fs::read_to_string(pages.join(format!("hansard-{}.1", command.get_name()))).unwrap();
            assert!(page.contains(".SH SYNOPSIS"), "{page}");
        }
        let page = fs::read_to_string(pages.join("hansard-context-explain.1")).unwrap();
        assert!(page.contains("hansard context explain"), "{page}");
    }
}
