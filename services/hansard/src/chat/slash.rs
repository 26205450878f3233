//! The commands of a chat: lines that begin with a slash.

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    New,
    List,
    Open,
    Fork,
    Rewind,
    Title,
    Export,
    Tools,
    Context,
    Help,
    Quit,
}

/// A command.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) name: &'static str,
    /// Its argument, as help shows it.
    pub(super) argument: &'static str,
    pub(super) help: &'static str,
    pub(super) action: Action,
}

const fn command(name: &'static str, argument: &'static str, help: &'static str, action: Action) -> Command {
    Command { name, argument, help, action }
}

/// Every command.
pub(super) const COMMANDS: [Command; 11] = [
    command("new", "", "begin a new conversation", Action::New),
    command("list", "", "list your newest conversations", Action::List),
    command("open", "ID", "open a conversation, by its id or its number in the list", Action::Open),
    command("fork", "[TITLE]", "continue in a new conversation that shares everything so far", Action::Fork),
    command("rewind", "[COUNT]", "replace your last message, or the last COUNT, by the next one", Action::Rewind),
    command("title", "[TITLE]", "set the title; without one, show it", Action::Title),
    command("export", "[FILE]", "write every event as JSON Lines", Action::Export),
    command("tools", "", "list the latest calls of tools", Action::Tools),
    command("context", "", "show what the model reads, with tokens (needs --token)", Action::Context),
    command("help", "", "show this list", Action::Help),
    command("quit", "", "end; so does Ctrl-D", Action::Quit),
];

/// A line of the user.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Nothing.
    Empty,
    /// A message.
    Message(&'a str),
    /// A command and its argument.
    Command(Action, &'a str),
    /// An unknown command.
    Unknown(&'a str),
}

/// Parses a line. Two slashes begin a message with one.
pub(super) fn parse(line: &str) -> Line<'_> {
    let line = line.trim();
    if line.is_empty() {
        return Line::Empty;
    }
    let Some(words) = line.strip_prefix('/') else {
        return Line::Message(line);
    };
    if words.starts_with('/') {
        return Line::Message(words);
    }
    let (name, argument) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let found = COMMANDS.iter().find(|command| command.name == name);
    found.map_or(Line::Unknown(name), |command| Line::Command(command.action, argument.trim()))
}

/// The help of all commands.
pub(super) fn help() -> String {
    let row = |command: &Command| {
        let call = format!("/{} {}", command.name, command.argument);
        format!("  {:<16} {}\n", call.trim_end(), command.help)
    };
    let mut text: String = COMMANDS.iter().map(row).collect();
    text.push_str(
        "  Alt-Enter or a backslash at the end begins another line; Ctrl-R searches; // begins a message with /\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_parsed() {
        let check = |line: &str, expected: Line<'_>| assert_eq!(parse(line), expected, "{line}");
        check("", Line::Empty);
        check(" \n ", Line::Empty);
        check(" a\nb ", Line::Message("a\nb"));
        check("/new", Line::Command(Action::New, ""));
        check("/open  7 ", Line::Command(Action::Open, "7"));
        check("/title A b", Line::Command(Action::Title, "A b"));
        check("/nothing x", Line::Unknown("nothing"));
        check("/", Line::Unknown(""));
        check("//etc/hosts", Line::Message("/etc/hosts"));
        check("a /new", Line::Message("a /new"));
    }

    #[test]
    fn every_command_is_in_the_help_and_parses() {
        for command in &COMMANDS {
            let call = format!("/{}", command.name);
            assert_eq!(parse(&call), Line::Command(command.action, ""));
            assert!(help().contains(&call));
        }
    }
}
