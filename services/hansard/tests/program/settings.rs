//! Agent settings by the command line.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::dev::{Dev, check, lines_of};

fn settings(dev: &Dev) -> Value {
    let listed = lines_of(&dev.run(&["agent", "list", "--tenant", "demo", "--json"]));
    listed[0].get("settings").cloned().unwrap_or_default()
}

fn set(dev: &Dev, options: &[&str], expected: &Value) {
    let set = dev.run(&[&["agent", "set", "demo"], options].concat());
    check(&set, 0, "");
    assert_eq!(settings(dev), *expected, "{options:?}");
}

/// Settings that a command does not name stay unchanged, including a model server of the environment.
pub(crate) fn unnamed_settings_stay(dev: &Dev) {
    let signed = "IDENTITY_MODE_SIGNED";
    let logs = |detail: &str| json!({"detail": detail, "days": 3});
    set(dev, &["--identity-mode", "signed"], &json!({"identityMode": signed, "model": {"server": "echo"}}));
    let local = json!({"server": "local", "model": "smollm2"});
    set(dev, &["--model", "local/smollm2"], &json!({"identityMode": signed, "model": local}));
    let answer = answer(dev);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let days = ["--provider-logs", "bodies", "--provider-logs-days", "3"];
    let with_logs = |detail| json!({"identityMode": signed, "model": local, "providerLogs": logs(detail)});
    set(dev, &days, &with_logs("PROVIDER_LOG_DETAIL_BODIES"));
    let facts = ["--provider-logs", "facts"];
    set(dev, &facts, &with_logs("PROVIDER_LOG_DETAIL_FACTS"));
    let nothing = dev.run(&["agent", "set", "demo"]);
    check(&nothing, 2, "hansard: name at least one setting, such as --model");
    assert_eq!(settings(dev), with_logs("PROVIDER_LOG_DETAIL_FACTS"));
    let file = dev.folder.path().join("settings.json");
    let whole = r#"{"identityMode": "IDENTITY_MODE_TRUST", "model": {"server": "local", "model": "a", "stepsMax": 2}}"#;
    fs::write(&file, whole).expect("a file");
    let file = file.to_str().expect("a path");
    set(
        dev,
        &["--settings-file", file, "--model", "echo"],
        &json!({"identityMode": "IDENTITY_MODE_TRUST", "model": {"server": "echo", "stepsMax": 2}}),
    );
    let roles = ["--reset", "--allow-role", "system", "--allow-role", "assistant"];
    let allowed = json!(["ROLE_SYSTEM", "ROLE_ASSISTANT"]);
    set(dev, &roles, &json!({"allowedRoles": allowed}));
    set(dev, &["--identity-mode", "open"], &json!({"allowedRoles": allowed, "identityMode": "IDENTITY_MODE_OPEN"}));
    set(dev, &["--reset"], &json!({}));
}

/// The demo agent's answer to a stateless request.
fn answer(dev: &Dev) -> String {
    let after = |what: &str| {
        let found = dev.shown.split_once(what).expect("the guide");
        let word = found.1.split_whitespace().next();
        word.expect("a word").to_owned()
    };
    let key = after("API key ");
    let gateway = dev.http_url().trim_start_matches("http://");
    let post = |path: &str, session: &str, body: &str| {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {gateway}\r\nx-api-key: {key}\r\nconnection: close\r\n\
             {session}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut connection = TcpStream::connect(gateway).expect("a connection");
        connection.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        connection.read_to_string(&mut answer).expect("an answer");
        answer
    };
    let issued = post("/api/sessions", "", "{}");
    let header = |line: &&str| line.starts_with("x-session-id: ");
    let session = issued.lines().find(header).expect("a session");
    post("/v1/chat", &format!("{session}\r\n"), r#"{"message": "hello"}"#)
}
