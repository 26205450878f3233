//! `hansard history`: the operations of a bot on the command line.

use serde_json::{Value, json};
use tests::program;
use tests::program::CommandOutput;
use tests::stack::Stack;
use wire::proto::operate::v1::Scope;

const MESSAGES: &str = r#"{"role":"ROLE_USER","parts":[{"text":"Where is my parcel?"}]}

{"role":"ROLE_ASSISTANT","parts":[{"text":"In Graz."}]}
"#;
const VARIABLES: &str = r#"{"results":{"telegram":{"chat_id":-42}}}"#;
const KEY: [&str; 4] = ["--candidate", "{{thread_id}}", "--candidate", "telegram:{{results.telegram.chat_id}}"];

/// A bot's folder of files, and its access to the gateway.
struct Bot {
    folder: tempfile::TempDir,
    variables: [(String, String); 3],
}

impl Bot {
    fn file(&self, name: &str, text: &str) -> String {
        let file = self.folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    }

    async fn run(&self, arguments: &[&str]) -> CommandOutput {
        let begin = ["history"].into_iter().chain(arguments.iter().copied());
        program!().run(begin, &self.variables).await
    }

    /// Runs an action with the key of the chat; returns the answer as JSON.
    async fn answer(&self, action: &[&str]) -> Value {
        let variables = self.file("variables.json", VARIABLES);
        let more = [&KEY[..], &["--variables", &variables, "--json"]].concat();
        let ended = self.run(&[action, &more].concat()).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stderr.contains("the key {{thread_id}} was rejected: UNRESOLVED"), "{ended:?}");
        serde_json::from_str(&ended.stdout).expect("JSON")
    }
}

async fn bot(stack: &Stack, agent: &str) -> Bot {
    let scopes = [Scope::Read, Scope::Append];
    let token = stack.operator().await.token(&scopes, "").await.secret;
    Bot {
        folder: tempfile::tempdir().unwrap(),
        variables: [
            ("HANSARD_TOKEN".to_owned(), token),
            ("HANSARD_GATEWAY_URL".to_owned(), stack.gateway.grpc_url()),
            ("HANSARD_AGENT".to_owned(), agent.to_owned()),
        ],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_messages_are_loaded_once() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let bot = bot(stack, agent.id()).await;
    let messages = bot.file("messages.jsonl", MESSAGES);
    let record = ["record", "--messages", &messages];
    let recorded = bot.answer(&record).await;
    assert_eq!(recorded["appendedCount"], 2);
    assert_eq!(recorded["historyKey"], "telegram:-42");
    let again = bot.answer(&record).await;
    assert_eq!(again.get("appendedCount"), None);
    assert_eq!(again["version"], recorded["version"]);
    let next = bot.file("next.jsonl", r#"{"role":"ROLE_USER","parts":[{"text":"And now?"}]}"#);
    let loaded = bot.answer(&["load", "--messages", &next]).await;
    let texts: Vec<&Value> =
        loaded["messages"].as_array().expect("messages").iter().map(|message| &message["parts"][0]["text"]).collect();
    assert_eq!(texts, ["Where is my parcel?", "In Graz.", "And now?"]);
    let shown = bot.run(&["load", "--candidate", "telegram:-42"]).await;
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let text = format!(
        "       user  Where is my parcel?\n  assistant  In Graz.\n  (2 messages of telegram:-42, version 3 of {})\n",
        loaded["conversationId"].as_str().expect("an id")
    );
    assert_eq!(shown.stdout, text);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_reported() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let bot = bot(stack, agent.id()).await;
    let messages = bot.file("messages.jsonl", MESSAGES);
    let bad = bot.file("bad.jsonl", &format!("{MESSAGES}{}", json!({"role": 1, "x": 2})));
    let key = ["--candidate", "k"];
    for (arguments, error) in [
        (["record", "--candidate", "a b", "--messages", &messages], "NO_VALID_KEY"),
        (["record", key[0], key[1], "--messages", &bad], "line 4: not a message"),
        (["load", key[0], key[1], "--namespace", "a b"], "namespace"),
        (["load", key[0], key[1], "--variables", "/no/such/file"], "cannot read /no/such/file"),
    ] {
        let ended = bot.run(&arguments).await;
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains(error), "{error}: {ended:?}");
    }
}
