//! `hansard completions`: the completions of a shell.

use std::io::{self, Write as _};

use clap_complete::Shell;

use crate::console;
use crate::exit::Exit;

/// Print the completions of a shell.
///
/// Needs no connection. The image has those of bash, zsh and fish.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard completions bash > ~/.local/share/bash-completion/completions/hansard
  hansard completions zsh > ~/.zfunc/_hansard
  hansard completions fish > ~/.config/fish/completions/hansard.fish")]
pub(crate) struct Args {
    /// The shell.
    shell: Shell,
}

#[expect(clippy::needless_pass_by_value, reason = "as every command")]
pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let script = script(args.shell);
    console::out().write_all(&script)?;
    Ok(Exit::Done)
}

/// The script. It is written to memory first, because `clap_complete` panics if the output is closed.
fn script(shell: Shell) -> Vec<u8> {
    let mut command = crate::command();
    let mut script = io::Cursor::new(Vec::new());
    clap_complete::generate(shell, &mut command, "hansard", &mut script);
    script.into_inner()
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn every_shell_completes_every_command() {
        for shell in Shell::value_variants() {
            let script = String::from_utf8(script(*shell)).unwrap();
            for command in crate::command().get_subcommands() {
                let name = command.get_name();
                assert!(script.contains(name), "{shell}: {name}");
            }
        }
    }
}
