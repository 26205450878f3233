//! `docs/reference/cli.md`: every command with its options, as in `--help`.

use clap::Command;
use std::fmt::Write as _;

use tests::generated;

/// The level of the headings of the program's own commands.
const TOP_LEVEL: usize = 3;

/// Every command with its own options, in the order of the help.
fn section(command: &Command, path: &str, level: usize, text: &mut String) {
    let heading = "#".repeat(level.min(4));
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    writeln!(text, "\n{heading} {path}\n\n{about}").expect("text");
    let options = options(command, level > TOP_LEVEL);
    if !options.is_empty() {
        write!(text, "\n| argument | meaning |\n|---|---|\n{options}").expect("text");
    }
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        section(sub, &format!("{path} {}", sub.get_name()), level + 1, text);
    }
}

/// A row for each argument in the help, except `--help`, `--version` and arguments inherited from the parent command.
fn options(command: &Command, is_sub: bool) -> String {
    let arguments = command.get_arguments().filter(|argument| {
        let is_inherited = is_sub && argument.is_global_set();
        !argument.is_hide_set() && !is_inherited && !matches!(argument.get_id().as_str(), "help" | "version")
    });
    let rows: Vec<String> = arguments
        .map(|argument| {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let shown = argument.to_string().replace('|', "\\|");
            format!("| `{shown}` | {} |\n", help.replace('|', "\\|").replace('\n', " "))
        })
        .collect();
    rows.concat()
}

#[test]
fn the_reference_has_every_command() {
    let mut command = hansard::command();
    command.build();
    let mut text = String::new();
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        section(sub, &format!("hansard {}", sub.get_name()), TOP_LEVEL, &mut text);
    }
    generated::check("docs/reference/cli.md", "commands", &format!("{text}\n"));
}
