//! Runs the program's commands against its own stack, and checks exit codes and output.

use std::fs;
use std::io::Read as _;
use std::process::{Command, Output, Stdio};

use serde_json::json;

use crate::contexts;
use crate::dev::{Dev, PROGRAM, check, folder, lines_of, run};
use crate::{pages, settings};

#[test]
fn exit_codes_and_errors() {
    let check = |line: &str, code, stderr| {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        check(&run(&[], &arguments), code, stderr);
    };
    check("--version", 0, "");
    check("import --help", 0, "");
    check("", 2, "Usage");
    check("nothing", 2, "unrecognized subcommand");
    check("tenant list", 2, "hansard: a service token is required");
    check("tenant list --token t --writer ftp://x", 2, "is not a service address");
    check("import /no/such/file --agent a --token t", 1, "hansard: cannot read /no/such/file");
    check("import - --agent a --token t", 2, "hansard: standard input has no name");
    let kind = ("HANSARD_MODELS__LOCAL__KIND", "pigeon");
    let kind = [kind].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let pigeon = run(&kind, &["dev"]);
    crate::dev::check(&pigeon, 2, "(environment variable HANSARD_MODELS__LOCAL__KIND)");
    check("writer --check", 0, "");
    check("projector --check", 0, "");
    check("gateway --check --set grpc.adr=x", 2, "`grpc.adr` (flag) is not a setting");
    check("writer --check --config /no/such/file", 2, "file /no/such/file");
    check("bootstrap --name admin --nats-url nats://127.0.0.1:1", 1, "hansard: ");
}

#[test]
fn every_command_on_a_stack_that_restarts() {
    let dev = Dev::start(folder(), "5");
    assert!(dev.shown.contains("The context of the conversation"), "{}", dev.shown);
    imports_change_nothing_the_second_time(&dev);
    registry_commands(&dev);
    settings::unnamed_settings_stay(&dev);
    the_record_can_be_read(&dev);
    contexts::receipts_policies_and_explanations(&dev);
    contexts::texts_never_control_the_terminal(&dev);
    pages::run_as_printed(&dev);
    let environment = dev.environment.clone();
    let again = Dev::start(dev.stop(), "5");
    assert_eq!(again.environment, environment, "tokens and addresses stay the same");
    again.stop();
}

fn imports_change_nothing_the_second_time(dev: &Dev) {
    let file = dev.folder.path().join("chats.jsonl");
    let good = include_str!("../../src/import/fixtures/openai.jsonl");
    fs::write(&file, format!("{good}{{}}\n{good}")).expect("a file");
    let file = file.to_str().expect("a path");
    let summary = |output: &Output| {
        let mut summary = lines_of(output).remove(0);
        summary.as_object_mut().expect("an object").remove("seconds");
        summary
    };
    // Two lines have an id, which the second half repeats.
    let first = dev.run(&["import", file, "--json"]);
    check(&first, 3, "line 6: messages: is required");
    let whole = json!({
        "conversations": 10, "already_there": 2, "messages": 36, "commits": 16, "refused": 1, "remarks": 4,
    });
    assert_eq!(summary(&first), whole);
    let again = summary(&dev.run(&["import", file, "--json"]));
    assert_eq!((&again["commits"], &again["already_there"]), (&json!(0), &json!(10)));
    let chitchat = dev.run(&["import", "chitchat", "--limit", "5", "--json"]);
    check(&chitchat, 0, "5 existed already");
}

fn registry_commands(dev: &Dev) {
    check(&dev.run(&["tenant", "create", "globex", "--name", "Globex"]), 0, "");
    check(&dev.run(&["tenant", "create", "globex"]), 1, "hansard: ");
    check(&dev.run(&["agent", "create", "desk", "--tenant", "globex"]), 0, "");
    let made = dev.run(&["key", "create", "--agent", "desk", "--json"]);
    let id = lines_of(&made)[0]["apiKeyId"].as_str().expect("an id").to_owned();
    check(&dev.run(&["key", "revoke", &id]), 0, "");
    let keys = lines_of(&dev.run(&["key", "list", "--agent", "desk", "--json"]));
    assert_eq!(keys.len(), 1);
    assert!(keys[0]["revokedAt"].is_string(), "{keys:?}");
    let made = dev.run(&["token", "create", "--name", "reader", "--scope", "read"]);
    let token = String::from_utf8(made.stdout).expect("text").trim().to_owned();
    check(&dev.run(&["tenant", "list", "--token", &token]), 1, "MISSING_SCOPE");
    let create = ["token", "create", "--name", "desk", "--scope", "read"];
    let made = dev.run(&[&create[..], &["--agent", "desk"]].concat());
    assert!(made.stdout.starts_with(b"hsk_"), "{made:?}");
    let tokens = lines_of(&dev.run(&["token", "list", "--json"]));
    let bound = tokens.iter().find(|token| token["displayName"] == "desk");
    assert_eq!(bound.expect("the token")["agentIds"][0], "desk");
    let bootstrap = dev.run(&["bootstrap", "--name", "admin", "--nats-url", dev.nats_url()]);
    check(&bootstrap, 1, "already has a service token with the scope operate");
    // As `hansard status` advises for streams of earlier versions: no token is created.
    let bootstrap = dev.run(&["bootstrap", "--nats-url", dev.nats_url()]);
    check(&bootstrap, 0, "");
    let shown = String::from_utf8_lossy(&bootstrap.stdout);
    assert!(shown.contains("8 partitions accept batches"), "{shown}");
    assert_eq!(lines_of(&dev.run(&["token", "list", "--json"])), tokens);
    let again = dev.run(&["bootstrap", "--again", "--nats-url", dev.nats_url()]);
    check(&again, 2, "--name");
}

fn the_record_can_be_read(dev: &Dev) {
    let commits = lines_of(&dev.run(&["tail", "--nats-url", dev.nats_url()]));
    let of_dev = commits.iter().filter(|commit| commit["envelope"]["actor"] == "dev").count();
    assert_eq!(of_dev, commits.len());
    let conversation = commits[0]["envelope"]["conversationId"].as_str().expect("an id");
    let tail = ["tail", "--nats-url", dev.nats_url(), "--tenant", "demo", "--conversation"];
    let own = lines_of(&dev.run(&[&tail[..], &[conversation]].concat()));
    assert_eq!(own[0], commits[0]);
    let context = lines_of(&dev.run(&["context", conversation, "--messages", "1", "--json"]));
    assert_eq!(context[0]["messages"].as_array().map(Vec::len), Some(1), "{context:?}");
    check(&dev.run(&["context", "nobody"]), 1, "CONVERSATION_NOT_FOUND");
    a_closed_pipe_is_no_error(dev);
}

fn a_closed_pipe_is_no_error(dev: &Dev) {
    let mut tail = Command::new(PROGRAM)
        .args(["tail", "--nats-url", dev.nats_url()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut first = [0];
    tail.stdout.take().expect("stdout").read_exact(&mut first).expect("a byte");
    let output = tail.wait_with_output().expect("its end");
    check(&output, 0, "");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}
