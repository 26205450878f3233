//! Every `hansard` command in a document has valid arguments.

use clap::error::ErrorKind;

use super::markdown::documents;
use super::shell;

/// The languages of blocks with commands; no test runs those of a `console`.
const SHELL: [&str; 2] = ["sh", "console"];
/// Options that documents leave to the environment.
const FROM_ENVIRONMENT: [&[&str]; 3] = [&[], &["--token", "t"], &["--token", "t", "--agent", "a"]];

/// The arguments of `hansard` in a command; `None` for another program.
fn arguments(words: &[String]) -> Option<&[String]> {
    let is_prefix =
        |word: &&String| word.contains('=') || matches!(word.as_str(), "in_operator" | "env" | "do" | "then");
    let skipped = words.iter().take_while(is_prefix).count();
    let words = words.get(skipped..)?;
    let behind = |separator: &str| {
        let place = words.iter().position(|word| word == separator)?;
        words.get(place + 1..)
    };
    match words.first()?.as_str() {
        "hansard" => words.get(1..),
        "kubectl" => behind("--").and_then(arguments),
        "docker" => behind("operator").filter(|_| words.iter().all(|word| word != "--entrypoint")),
        "cargo" if words.get(1)? == "dev" => words.get(1..),
        "cargo" if words.windows(2).any(|pair| pair == ["-p", "hansard"]) => behind("--"),
        _ => None,
    }
}

/// The error of the arguments; `None` if they are valid.
fn fault(arguments: &[String]) -> Option<String> {
    let mut fault = None;
    for given in FROM_ENVIRONMENT {
        let words = ["hansard"].into_iter().chain(arguments.iter().map(String::as_str)).chain(given.iter().copied());
        match hansard::command().try_get_matches_from(words) {
            Ok(_) => return None,
            Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
                return None;
            }
            Err(error) => fault = fault.or(Some(error.to_string())),
        }
    }
    fault
}

#[test]
fn commands_in_documents_are_valid() {
    let mut checked = 0;
    let mut faults = Vec::new();
    for document in documents() {
        let blocks = document.blocks();
        for block in blocks.iter().filter(|block| SHELL.contains(&&*block.language)) {
            let commands = shell::commands(&block.text);
            for arguments in commands.iter().filter_map(|words| arguments(words)) {
                checked += 1;
                let fault = fault(arguments);
                let place = format!("{}:{}", document.path.display(), block.line);
                faults.extend(fault.map(|fault| format!("{place}: {}: {fault}", arguments.join(" "))));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(checked > 100, "{checked}");
}

/// The error of a command in prose. Its arguments may be placeholders: only subcommands and options are checked.
fn fault_of_span(span: &str) -> Option<String> {
    let mut words = span.split_whitespace().peekable();
    words.next_if_eq(&"hansard")?;
    let mut command = hansard::command();
    command.build();
    while let Some(sub) = words.peek().and_then(|word| command.find_subcommand(word)) {
        command = sub.clone();
        words.next();
    }
    let first = words.peek().copied().unwrap_or_default();
    let is_name = first.chars().all(|sign| sign.is_ascii_lowercase() || sign == '-');
    if command.has_subcommands() && is_name && !first.is_empty() && !first.starts_with('-') {
        return Some(format!("{span}: there is no {first}"));
    }
    let options = words.filter_map(|word| word.strip_prefix("--")).filter(|option| !option.is_empty());
    let mut unknown = options.filter(|option| {
        let name = option.split('=').next().unwrap_or_default();
        command.get_name() != "hansard" && !command.get_arguments().any(|argument| argument.get_long() == Some(name))
    });
    unknown.next().map(|option| format!("{span}: there is no --{option}"))
}

#[test]
fn commands_in_prose_exist() {
    let mut faults = Vec::new();
    for document in documents() {
        let spans = document.code_spans();
        let broken = spans.iter().filter_map(|(line, span)| Some((line, fault_of_span(span)?)));
        faults.extend(broken.map(|(line, fault)| format!("{}:{line}: {fault}", document.path.display())));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
