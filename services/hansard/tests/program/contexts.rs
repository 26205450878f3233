//! Contexts in all formats, their receipts, and policies.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::dev::{Dev, check, lines_of};

const FORMS: [&str; 6] = ["canonical", "openai-chat", "openai-responses", "anthropic", "gemini", "ollama"];

/// The imported conversation: a call with its result, and an open call.
const IMPORTED: &str = r#"{"id":"proof","messages":[
    {"role":"system","content":"You help."},
    {"role":"user","content":"Weather in Oslo?"},
    {"role":"assistant","content":null,"tool_calls":[
        {"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]},
    {"role":"tool","tool_call_id":"c1","content":"{\"t\":-3}"},
    {"role":"assistant","content":"Cold. The api_key=Xyzzy42Xyzzy42 is kept."},
    {"role":"user","content":"And in Rome?"},
    {"role":"assistant","content":null,"tool_calls":[
        {"id":"c2","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}]}]}"#;

struct Desk<'a> {
    dev: &'a Dev,
}

impl Desk<'_> {
    /// The path of a file in the stack's folder.
    fn file(&self, name: &str) -> String {
        let path: PathBuf = self.dev.folder.path().join(name);
        path.to_str().expect("a path").to_owned()
    }

    fn written(&self, name: &str, text: &str) -> String {
        let file = self.file(name);
        fs::write(&file, text).expect("a file");
        file
    }

    /// Runs a command, checks its exit code and standard error, and returns its output.
    #[track_caller]
    fn check(&self, line: &str, code: i32, stderr: &str) -> String {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let output = self.dev.run(&arguments);
        check(&output, code, stderr);
        String::from_utf8(output.stdout).expect("text")
    }

    /// Imports the conversation and returns its id.
    fn imported(&self) -> String {
        let line = IMPORTED.replace('\n', "");
        let file = self.written("proof.jsonl", &line);
        self.check(&format!("import {file}"), 0, "");
        let nats = self.dev.nats_url();
        let tail = lines_of(&self.dev.run(&["tail", "--nats-url", nats]));
        let mut commits = tail.iter().filter(|commit| commit.to_string().contains("And in Rome?"));
        let commit = commits.next().expect("the conversation");
        let id = commit["envelope"]["conversationId"].as_str();
        id.expect("an id").to_owned()
    }

    /// Writes a receipt of the conversation to a file.
    fn receipt(&self, id: &str, name: &str, more: &str) -> String {
        let file = self.file(name);
        self.check(&format!("context {id} --receipt {file} {more}"), 0, "");
        file
    }
}

/// A conversation whose texts clear the screen, set the title, write the clipboard, and hide and reorder text.
const HOSTILE: &str = r#"{"id":"hostile","messages":[
    {"role":"user","content":"parcel \u001b[2J \u009b2J \u001b]0;title\u0007 \u001b]52;c;YQ==\u0007 \u202egpj.exe\u2066 \u2028 \u007f\rhidden"},
    {"role":"assistant","content":null,"tool_calls":[
        {"id":"c1","type":"function","function":{"name":"look\u202e","arguments":"{\"a\":\"\u009b1m\"}"}}]},
    {"role":"tool","tool_call_id":"c1","content":"\u001bc\u009dx"}]}"#;

/// No text of a conversation reaches the terminal as a control character, and JSON keeps it.
pub(crate) fn texts_never_control_the_terminal(dev: &Dev) {
    let desk = Desk { dev };
    let file = desk.written("hostile.jsonl", &HOSTILE.replace('\n', ""));
    desk.check(&format!("import {file}"), 0, "");
    let nats = dev.nats_url();
    let tail = desk.check(&format!("tail --nats-url {nats}"), 0, "");
    let commit = tail.lines().find(|line| line.contains("gpj.exe")).expect("the commit");
    let commit: Value = serde_json::from_str(commit).expect("JSON");
    assert!(commit.to_string().contains('\u{202e}'), "JSON has the text itself");
    let id = commit["envelope"]["conversationId"].as_str().expect("an id");
    let commands = ["context", "context --format openai-chat", "context --format anthropic", "context explain"];
    let contexts = commands.map(|command| desk.check(&format!("{command} {id}"), 0, ""));
    assert!(contexts[0].contains(r"\u202egpj.exe"), "{}", contexts[0]);
    for output in contexts.iter().chain([&tail]) {
        let is_control = |sign: char| sign != '\n' && sign != '\t' && !domain::is_printable(sign);
        assert!(!output.contains(is_control), "{output:?}");
    }
}

/// Every format has a body and a receipt, and every changed receipt is detected.
pub(crate) fn receipts_policies_and_explanations(dev: &Dev) {
    let desk = Desk { dev };
    let id = desk.imported();
    for form in FORMS {
        let printed = desk.check(&format!("context {id} --format {form}"), 0, "");
        let body: Value = serde_json::from_str(&printed).expect("JSON");
        assert!(body.is_object() && !printed.contains("Xyzzy"), "{form}: {printed}");
        let file = desk.receipt(&id, &format!("{form}.json"), &format!("--format {form}"));
        let proved = desk.check(&format!("verify-receipt {file}"), 0, "");
        assert!(proved.starts_with("equal: version "), "{proved}");
    }
    changed_receipts_are_detected(&desk);
    policies_are_kept(&desk, &id);
    contexts_are_explained(&desk, &id);
    desk.check(&format!("context {id} --at 1"), 2, "--format");
    desk.check(&format!("context {id} --receipt x"), 2, "--format");
    desk.check(&format!("context {id} --format gemini --at 999"), 1, "FIELD_OUT_OF_RANGE");
    desk.check("verify-receipt /no/such/file", 1, "cannot read /no/such/file");
}

fn changed_receipts_are_detected(desk: &Desk<'_>) {
    let text = fs::read_to_string(desk.file("anthropic.json")).expect("a receipt");
    let receipt: Value = serde_json::from_str(&text).expect("JSON");
    let changed = |field: &str, value: Value| {
        let mut receipt = receipt.clone();
        receipt[field] = value;
        desk.written("changed.json", &receipt.to_string())
    };
    let other = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    for (field, value, told) in [
        ("bodySha256", json!(other), "different: sha256 "),
        ("version", json!("4"), "different: sha256 "),
        ("format", json!("CONTEXT_FORMAT_GEMINI"), "different: sha256 "),
        ("turns", json!(1), "equal bytes, but other fields of the receipt differ"),
    ] {
        let file = changed(field, value);
        let said = desk.check(&format!("verify-receipt {file}"), 5, "");
        assert!(said.starts_with(told), "{field}: {said}");
    }
    let file = changed("turns", json!(1));
    let said = desk.check(&format!("verify-receipt {file} --json"), 5, "");
    let said: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!((&said["same"], &said["sha256"]), (&json!(false), &said["expectedSha256"]));
    let file = changed("policyDigest", json!(other));
    desk.check(&format!("verify-receipt {file}"), 1, "REGISTRY_ENTRY_NOT_FOUND");
    let file = changed("policyDigest", json!(""));
    desk.check(&format!("verify-receipt {file}"), 1, "policy_digest is not 32 bytes");
    let file = changed("nothing", json!(1));
    desk.check(&format!("verify-receipt {file}"), 1, "not a hansard.read.v1.Receipt");
}

fn policies_are_kept(desk: &Desk<'_>, id: &str) {
    let policy = desk.written("policy.json", r#"{"summary":"newest", "instructions":"Serve."}"#);
    let own = desk.receipt(id, "own.json", &format!("--format canonical --policy {policy}"));
    desk.check(&format!("verify-receipt {own}"), 1, "REGISTRY_ENTRY_NOT_FOUND");
    let with_policy = format!("verify-receipt {own} --policy {policy}");
    desk.check(&with_policy, 0, "");
    let set = desk.check(&format!("policy set demo --file {policy}"), 0, "sha256 ");
    let set: Value = serde_json::from_str(&set).expect("JSON");
    assert_eq!(set, json!({"instructions": "Serve."}));
    desk.check(&format!("verify-receipt {own}"), 0, "");
    let shown: Value = serde_json::from_str(&desk.check("policy show demo --json", 0, "")).expect("JSON");
    assert_eq!(shown["policyJson"], r#"{"instructions":"Serve."}"#);
    let body = desk.check(&format!("context {id} --format canonical"), 0, "");
    assert!(body.contains("Serve."), "{body}");
    let bad = desk.written("bad.json", r#"{"instructions":"{{ x }}","clear":{"fresh_percent":0}}"#);
    desk.check(&format!("policy set demo --file {bad}"), 1, "policy_json.clear.fresh_percent");
    let empty = desk.written("empty.json", "{}");
    desk.check(&format!("policy set demo --file {empty}"), 0, "");
    let default = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    let shown = desk.check(&format!("policy show demo --digest {default}"), 0, default);
    assert_eq!(shown, "{}\n");
    desk.check("policy show demo --digest zz", 2, "--digest must be hexadecimal");
    desk.check("policy show nobody", 1, "REGISTRY_ENTRY_NOT_FOUND");
    // Receipts of earlier policies stay verifiable.
    desk.check(&format!("verify-receipt {own}"), 0, "");
    desk.check(&format!("verify-receipt {}", desk.file("ollama.json")), 0, "");
}

fn contexts_are_explained(desk: &Desk<'_>, id: &str) {
    let table = desk.check(&format!("context explain {id}"), 0, "");
    for told in [
        "VERSION  WHAT",
        "call of weather",
        "result of weather",
        "included; no result yet, a note says so",
        "1 api_key",
        "form        canonical, ",
    ] {
        assert!(table.contains(told), "{told}: {table}");
    }
    assert!(!table.contains("Xyzzy"), "{table}");
    let json = desk.check(&format!("context explain {id} --format ollama --json"), 0, "");
    let mut told: Value = serde_json::from_str(&json).expect("JSON");
    let members = told.as_object_mut().expect("an object");
    let outcomes = members.remove("outcomes").expect("outcomes");
    assert_eq!(outcomes[0]["effect"], "STAGE_EFFECT_PENDING", "{outcomes}");
    let file = fs::read_to_string(desk.file("ollama.json")).expect("a receipt");
    let receipt: Value = serde_json::from_str(&file).expect("JSON");
    assert_eq!(told, receipt);
    desk.check("context explain nobody", 1, "CONVERSATION_NOT_FOUND");
    desk.check("context explain", 2, "<CONVERSATION>");
}
