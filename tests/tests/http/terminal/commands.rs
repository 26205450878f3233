//! The commands of a chat, from a pipe.

use axum::Router;
use axum::routing::post;
use serde_json::json;
use tests::model::{Model, Reply};
use wire::proto::operate::v1::{Scope, ToolSettings};

use super::Person;
use crate::turns::fixture::TurnFixture;

#[tokio::test(flavor = "multi_thread")]
async fn conversations_are_titled_forked_rewound_exported_and_opened() {
    let fixture = TurnFixture::new().await;
    let person = Person::of(&fixture).await;
    let lines = "one\n/title First\ntwo\n/rewind\nthree\n/fork Second\nfour\n/export f.jsonl\n/list\n/open 2\n/new\n//etc\n/help\n/quit\nfive\n";
    let ran = person.pipe(&["--commands", "--conversation", "mine"], lines).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let answers = "echo: one\necho: two\necho: three\necho: four\n";
    assert!(ran.stdout.starts_with(answers), "{ran:?}");
    let (_, listed) = ran.stdout.split_once("NUMBER").unwrap();
    for text in
        ["Second", "First", "mine", "> one\necho: one\n> three\necho: three\n", "echo: /etc\n", "/rewind [COUNT]"]
    {
        assert!(listed.contains(text), "{text}: {ran:?}");
    }
    // The rewound message is not in the opened conversation, and nothing follows the end.
    assert!(!listed.contains("two") && !listed.contains("five"), "{ran:?}");
    let export = std::fs::read_to_string(person.folder.path().join("f.jsonl")).unwrap();
    for text in ["four", "\"end\""] {
        assert!(export.contains(text), "{text}: {export}");
    }
    let again = person.pipe(&["--commands", "--conversation", "mine"], "/export f.jsonl\n").await;
    again.check_failed(1, "> one\necho: one\n> three\necho: three\n", "another name");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_commands_say_what_to_do() {
    let fixture = TurnFixture::new().await;
    let person = Person::of(&fixture).await;
    let check = async |line: &str, reason: &str| {
        let ran = person.pipe(&["--commands"], &format!("{line}\nnever sent\n")).await;
        ran.check_failed(1, "", reason);
    };
    check("/nothing", "see /help").await;
    check("/open", "/open 1").await;
    check("/open 1", "/open 1").await;
    check("/open missing", "CONVERSATION_NOT_FOUND").await;
    check("/open a/b", "/open 1").await;
    check("/fork", "send a message").await;
    check("/rewind", "send a message").await;
    check("/context", "--token").await;
    check("/tools", "send a message").await;
    check(&"x".repeat(256 * 1024 + 1), "longer than 256 KiB").await;
    let ran = person.pipe(&["--commands"], "hello\n/rewind 0\n").await;
    ran.check_failed(1, "echo: hello\n", "/rewind 2");
    let ran = person.pipe(&["--commands"], "hello\n/rewind 2\n").await;
    ran.check_failed(1, "echo: hello\n", "smaller count");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_token_shows_what_the_model_reads() {
    let fixture = TurnFixture::new().await;
    let token = fixture.operator.token(&[Scope::Read], fixture.tenant).await.secret;
    // A gateway that knows the key of the person also knows the token, which was created before.
    let person = Person::of(&fixture).await;
    let ran = person.pipe(&["--commands", "--token", &token], "hello\n/context\n").await;
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{ran:?}");
    for text in ["     user  hello\n", "assistant  echo: hello\n", " tokens: "] {
        assert!(ran.stdout.contains(text), "{text}: {ran:?}");
    }
    assert!(!ran.stdout.contains("(0 tokens"), "{ran:?}");
}

/// A tool that a person must approve, with a webhook.
async fn tool() -> ToolSettings {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let webhook_url = format!("http://{}/hook", listener.local_addr().unwrap());
    let take = async || axum::Json(json!({"found": true}));
    let routes = Router::new().route("/hook", post(take));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    ToolSettings {
        tool_name: "search".to_owned(),
        input_schema_json: "{}".to_owned(),
        webhook_url,
        needs_approval: true,
        ..ToolSettings::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_approved_and_refused() {
    let model = Model::answering(|requests| {
        let last = requests
            .last()
            .and_then(|request| request["messages"].as_array())
            .and_then(|messages| messages.last())
            .unwrap();
        if last["role"] == "tool" {
            return Reply::Text("done".to_owned());
        }
        Reply::Call("c1", "search")
    })
    .await;
    let fixture = TurnFixture::with_model(&model, vec![tool().await], |_| ()).await;
    let person = Person::of(&fixture).await;
    let waits = person.run(&["--conversation", "mine", "go"]).await;
    waits.check_failed(7, "", "search waits for a decision");
    assert!(waits.stderr.contains("hansard chat --conversation mine"), "{waits:?}");
    // A conversation that is opened asks again; an unclear answer asks again too.
    let refused = person.pipe(&["--commands", "--conversation", "mine"], "what\nn\n/tools\n").await;
    assert_eq!(refused.code, Some(0), "{refused:?}");
    assert!(refused.stdout.contains("> go\ndone\n"), "{refused:?}");
    assert!(refused.stdout.contains("output-denied"), "{refused:?}");
    let approved = person.pipe(&["--commands"], "go\ny\n/tools\n").await;
    assert_eq!(approved.code, Some(0), "{approved:?}");
    assert!(approved.stdout.starts_with("done\n"), "{approved:?}");
    assert!(approved.stdout.contains("output-available"), "{approved:?}");
    assert!(approved.stderr.contains("<- search returned"), "{approved:?}");
}
