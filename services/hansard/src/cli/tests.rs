use std::ffi::OsString;

use clap::{CommandFactory as _, Parser as _};

use super::*;

/// The width that help is wrapped at.
const COLUMNS: usize = 100;

#[test]
fn the_command_line_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn help_of_every_command() {
    let mut command = Cli::command()
        .term_width(COLUMNS)
        .color(clap::ColorChoice::Never);
    command.build();
    insta::assert_snapshot!("help", command.render_long_help());
    for command in command.get_subcommands_mut() {
        let name = command.get_name().to_owned();
        if name != "help" {
            insta::assert_snapshot!(format!("help_{name}"), command.render_long_help());
        }
    }
}

fn check(line: &str, understood: bool) {
    let arguments = line.split(' ').map(OsString::from);
    let outcome = Cli::try_parse_from(arguments);
    assert_eq!(outcome.is_ok(), understood, "{line}: {:?}", outcome.err());
}

#[test]
fn what_is_and_is_not_understood() {
    check("hansard", false);
    check("hansard nothing", false);
    check("hansard dev", true);
    check("hansard dev --once --import all", true);
    check("hansard dev --import some", false);
    check("hansard dev --port-base 65530", false);
    check("hansard writer --config x.toml --set a.b=1 --set c=2", true);
    check("hansard writer --set a.b", false);
    check("hansard bootstrap", false);
    check("hansard bootstrap --name admin", true);
    check("hansard tenant create acme --token t", true);
    check("hansard tenant list --json --token t", true);
    check("hansard agent create a --token t", false);
    check("hansard key create --agent a --token t", true);
    check("hansard token create --name x --token t", false);
    check(
        "hansard token create --name x --scope append --scope read --scope erase --token t",
        true,
    );
    check("hansard token create --name x --scope all --token t", false);
    check("hansard import file.jsonl --agent a --token t", true);
    check("hansard import - --agent a --token t --window 0", false);
    check(
        "hansard import file.jsonl --agent a --token t --window 4097",
        false,
    );
    check(
        "hansard context c --agent a --token t --messages 1001",
        false,
    );
    check(
        "hansard context c --agent a --token t --messages 1000 --json",
        true,
    );
    check("hansard archive run --older-than 90d --to file:///a", true);
    check("hansard archive run --older-than 90d", false);
    check("hansard archive run --older-than 0h --to file:///a", false);
    check("hansard archive run --older-than 90d --to /a", false);
    check("hansard archive read --tenant t", false);
    check("hansard archive verify --archive s3://b/p --json", true);
    check("hansard tail --partition 1 --follow", true);
    check("hansard tail --conversation c", false);
    check("hansard tail --tenant t --since 2026-09-21T14:00:00Z", true);
    check("hansard tail --since yesterday", false);
    check("hansard tail --follow --until 2026-09-21T14:00:00Z", false);
    check("hansard tail --tenant a.b", false);
    check(
        "hansard tail --tenant t --conversation c --partition 1",
        false,
    );
}

#[test]
fn what_frontends_need_is_understood() {
    check("hansard key rotate 0 --overlap-seconds 60 --token t", true);
    check("hansard key rotate 0 --overlap-seconds -1 --token t", false);
    check(
        "hansard agent set a --model m --identity-mode trust --token t",
        true,
    );
    check("hansard agent set a --identity-mode some --token t", false);
    check(
        "hansard agent set a --identity-mode anonymous --token t",
        false,
    );
    check("hansard agent set a --allow-role system --token t", true);
    check("hansard agent set a --allow-role user --token t", false);
    check("hansard signing-key add k --tenant a --token t", false);
    check(
        "hansard signing-key add k --tenant a --use user --token t",
        true,
    );
    check(
        "hansard signing-key add k --tenant a --use user --jwks-url x --secret-file y --token t",
        false,
    );
    check("hansard signing-key retire k --tenant a --token t", true);
}

#[test]
fn what_erases_and_restores_is_understood() {
    check("hansard erase", false);
    check("hansard erase conversation --tenant a", false);
    check("hansard erase conversation c", false);
    check("hansard erase conversation c d --tenant a --dry-run", true);
    check("hansard erase user u --tenant a --forks erase --json", true);
    check("hansard erase user u --tenant a --forks keep", false);
    check("hansard erase channel c --tenant a --forks erase", true);
    check("hansard erase channel c", false);
    check("hansard erase tenant a --receipt r.json --no-rows", true);
    check("hansard erase ledger", false);
    check("hansard erase ledger r.json", true);
    check("hansard erase verify-receipt r.json --public-key 00", true);
    check("hansard backup", false);
    check("hansard backup b --json", true);
    check("hansard restore b --receipts r --dry-run", true);
    check("hansard restore", false);
}

#[test]
fn what_operators_need_is_understood() {
    check("hansard replay", false);
    check("hansard replay --to-file f", true);
    check("hansard replay --to-file f --to-subject s", false);
    check("hansard replay --to-file f --places p", false);
    check("hansard replay --to-subject s --places p --resume", true);
    check("hansard replay --to-subject s --rate 100000", true);
    check("hansard replay --to-subject s --rate 100001", false);
    check("hansard replay --to-subject s --rate 0", false);
    check("hansard status --json", true);
    check(
        "hansard status --role writer=http://h:1 --role a=http://h:2",
        true,
    );
    check("hansard status --role http://h:1", false);
    check("hansard status --role a=http://h:2 --no-roles", false);
    check("hansard status --lag-max-seconds 86400", true);
    check("hansard status --lag-max-seconds 86401", false);
    check("hansard watch --interval 3600 --count 1", true);
    check("hansard watch --interval 3601", false);
    check("hansard watch --interval 0", false);
    check("hansard parked", false);
    check("hansard parked list --partition 3", true);
    check("hansard parked show t", false);
    check("hansard parked show t c --json", true);
    check("hansard parked retry", false);
    check("hansard parked retry t", false);
    check("hansard parked retry t c", true);
    check("hansard parked retry --all --partition 1", true);
    check("hansard parked retry t c --all", false);
    check("hansard parked drop t c --yes --dry-run", false);
    check("hansard parked drop t c --sequence 4 --yes", true);
}

#[test]
fn what_histories_need_is_understood() {
    let key = "--agent a --token t --candidate k";
    check(
        &format!("hansard history load {key} --messages-max 1000"),
        true,
    );
    check(
        &format!("hansard history load {key} --messages-max 1001"),
        false,
    );
    check(&format!("hansard history record {key}"), false);
    check(&format!("hansard history record {key} --messages m"), true);
    check(
        &format!("hansard history record {key} --messages m --idempotency-key x"),
        false,
    );
}
