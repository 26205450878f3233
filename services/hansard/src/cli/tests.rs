use clap::{CommandFactory as _, Parser as _};

use super::*;

/// The line width of help texts.
const COLUMNS: usize = 100;

#[test]
fn the_command_line_is_valid() {
    Cli::command().debug_assert();
}

#[test]
fn help_of_every_command() {
    let mut command = Cli::command().term_width(COLUMNS).color(clap::ColorChoice::Never);
    command.build();
    insta::assert_snapshot!("help", command.render_long_help());
    for command in command.get_subcommands_mut() {
        let name = command.get_name().to_owned();
        if name != "help" {
            insta::assert_snapshot!(format!("help_{name}"), command.render_long_help());
        }
    }
}

/// Checks which command lines are valid, without the program's name.
fn check(valid: &[&str], invalid: &[&str]) {
    let parse = |line: &str| {
        let arguments = ["hansard"].into_iter().chain(line.split_whitespace());
        Cli::try_parse_from(arguments).err()
    };
    for line in valid {
        let error = parse(line);
        assert!(error.is_none(), "{line}: {error:?}");
    }
    for line in invalid {
        assert!(parse(line).is_some(), "{line}");
    }
}

#[test]
fn valid_and_invalid_arguments() {
    check(
        &[
            "dev",
            "dev --once --import all",
            "writer --config x.toml --set a.b=1 --set c=2",
            "bootstrap",
            "bootstrap --name admin --again",
            "tenant create acme --token t",
            "tenant list --json --token t",
            "key create --agent a --token t",
            "token create --name x --scope append --scope read --scope erase --token t",
            "usage correct --agent a --day 2026-11-28 --input -5 --reason r --token t",
            "usage correct --agent a --day 2026-11-28 --of messages --cached=-5 --output 3 --reason r --token t",
            "token create --name x --scope append --agent a --agent b --token t",
            "import file.jsonl --agent a --token t",
            "context c --agent a --token t --messages 1000 --json",
            "archive run --older-than 90d --to file:///a",
            "archive verify --archive s3://b/p --json",
            "tail --partition 1 --follow",
            "audit --tenant t --token t",
            "audit --tenant t --since 2026-11 --follow --json --actor service-token --after 2026-11:7 --token t",
            "tenant set t --audit-service-tokens on --token t",
            "tail --tenant t --since 2026-09-21T14:00:00Z",
        ],
        &[
            "",
            "nothing",
            "dev --import some",
            "dev --port-base 65530",
            "writer --set a.b",
            "bootstrap --again",
            "agent create a --token t",
            "token create --name x --token t",
            "token create --name x --scope all --token t",
            "import - --agent a --token t --limit some",
            "context c --agent a --token t --messages 1001",
            "archive run --older-than 90d",
            "archive run --older-than 0h --to file:///a",
            "archive run --older-than 90d --to /a",
            "archive read --tenant t",
            "tail --conversation c",
            "tail --since yesterday",
            "tail --follow --until 2026-09-21T14:00:00Z",
            "tail --tenant a.b",
            "tail --tenant t --conversation c --partition 1",
        ],
    );
}

#[test]
fn arguments_of_key_and_agent_commands() {
    check(
        &[
            "key rotate 0 --overlap-seconds 60 --token t",
            "agent set a --model m --identity-mode trust --token t",
            "agent set a --allow-role system --token t",
            "signing-key add k --tenant a --use user --token t",
            "signing-key retire k --tenant a --token t",
        ],
        &[
            "key rotate 0 --overlap-seconds -1 --token t",
            "agent set a --identity-mode some --token t",
            "agent set a --identity-mode anonymous --token t",
            "agent set a --allow-role user --token t",
            "signing-key add k --tenant a --token t",
            "signing-key add k --tenant a --use user --jwks-url x --secret-file y --token t",
        ],
    );
}

#[test]
fn arguments_of_erase_backup_and_restore() {
    check(
        &[
            "erase conversation c d --tenant a --dry-run",
            "erase user u --tenant a --forks erase --json",
            "erase channel 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 --tenant a --forks erase",
            "erase tenant a --receipt r.json --no-rows",
            "erase ledger r.json",
            "erase verify-receipt r.json --public-key 00",
            "backup b --json",
            "restore b --receipts r --dry-run",
        ],
        &[
            "erase",
            "erase conversation --tenant a",
            "erase conversation c",
            "erase user u --tenant a --forks keep",
            "erase user u --tenant a --forks detach",
            "erase channel c",
            "erase ledger",
            "backup",
            "restore",
        ],
    );
}

#[test]
fn arguments_of_replay_status_watch_and_parked() {
    check(
        &[
            "replay --to-file f",
            "replay --to-subject s --places p --resume",
            "replay --to-subject s --rate 100000",
            "status --json",
            "status --role writer=http://h:1 --role a=http://h:2",
            "status --lag-max-seconds 86400",
            "watch --interval 3600 --count 1",
            "parked list --partition 3",
            "parked show t c --json",
            "parked retry t c",
            "parked retry --all --partition 1",
            "parked drop t c --sequence 4 --yes",
        ],
        &[
            "replay",
            "replay --to-file f --to-subject s",
            "replay --to-file f --places p",
            "replay --to-subject s --rate 100001",
            "replay --to-subject s --rate 0",
            "status --role http://h:1",
            "status --role a=http://h:2 --no-roles",
            "status --lag-max-seconds 86401",
            "watch --interval 3601",
            "watch --interval 0",
            "parked",
            "parked show t",
            "parked retry",
            "parked retry t",
            "parked retry t c --all",
            "parked drop t c --yes --dry-run",
        ],
    );
}

#[test]
fn arguments_of_history() {
    check(
        &[
            "history load --agent a --token t --candidate k --messages-max 1000",
            "history record --agent a --token t --candidate k --messages m",
        ],
        &[
            "history load --agent a --token t --candidate k --messages-max 1001",
            "history record --agent a --token t --candidate k",
            "history record --agent a --token t --candidate k --messages m --idempotency-key x",
        ],
    );
}

#[test]
fn arguments_of_chat_completions_and_man() {
    check(
        &[
            "chat",
            "chat question --api-key k --conversation c",
            "chat --commands --no-color --session f --data-dir d",
            "completions bash",
            "completions fish",
            "man folder",
        ],
        &[
            "chat one two",
            "chat question --commands",
            "chat --conversation a/b",
            "completions",
            "completions some",
            "man",
        ],
    );
}
