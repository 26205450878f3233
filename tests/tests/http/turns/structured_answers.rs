//! Answers that must match the agent's JSON Schema: requested, checked, tried once more, and never recorded when invalid.

use serde_json::{Value, json};
use tests::eventually::eventually;
use wire::proto::operate::v1::{AgentSettings, ModelSettings, Scope, ToolSettings};

use super::fixture::{TurnFixture, open_settings};
use super::model::{Model, Reply};
use super::sse::{ask, chunks, kinds, text as text_of};
use crate::fixture::{bearer, list, text};

const SCHEMA: &str = r#"{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}"#;
const VALID: &str = r#"{"city": "Paris"}"#;
const WRONG: &str = r#"{"city": 7}"#;
const REFUSED: &str = "The answer did not have the expected form.";

fn settings() -> AgentSettings {
    AgentSettings {
        model: Some(ModelSettings { server: "slow".to_owned(), model: "slow".to_owned(), ..ModelSettings::default() }),
        tools: vec![ToolSettings {
            tool_name: "look".to_owned(),
            input_schema_json: "{}".to_owned(),
            ..ToolSettings::default()
        }],
        output_schema_json: SCHEMA.to_owned(),
        ..open_settings()
    }
}

/// A fixture whose gateway requests structured answers, and the number of requests so far.
async fn fixture(model: &Model) -> (TurnFixture, usize) {
    let fixture = TurnFixture::with_model(model, Vec::new(), |_| ()).await;
    fixture.operator.settings(fixture.agent_id, settings()).await;
    eventually("a request with a schema", || async {
        fixture.client.post("/v1/chat", &json!({"message": "ready?"})).await;
        let last = model.requests().pop().unwrap();
        last.get("response_format").is_some().then_some(())
    })
    .await;
    let before = model.requests().len();
    (fixture, before)
}

/// By the texts of the conversation: a call of a tool, a wrong answer, or a valid one.
fn answer_to(requests: &[Value]) -> Reply {
    let messages = &requests.last().unwrap()["messages"];
    let same = |one: &&Value| one["messages"] == *messages;
    let attempts = requests.iter().filter(same).count();
    let texts = messages.to_string();
    if texts.contains("look it up") && !texts.contains("tool_calls") {
        return Reply::Call("c1", "look");
    }
    let is_wrong = texts.contains("always wrong") || (texts.contains("once wrong") && attempts == 1);
    Reply::Text(if is_wrong { WRONG } else { VALID }.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn only_valid_answers_are_shown_and_recorded() {
    let model = Model::answering(answer_to).await;
    let (fixture, before) = fixture(&model).await;
    let client = &fixture.client;
    let chat = fixture.chat().await;
    let heard = ask(client, &chat, &json!({"content": "valid"})).await;
    assert_eq!(text_of(&heard), VALID);
    fixture.idle(&chat).await;
    assert_eq!(model.requests().len(), before + 1);
    let request = model.requests().pop().unwrap();
    let format = &request["response_format"];
    assert_eq!((text(format, "type"), &format["json_schema"]["strict"]), ("json_schema", &json!(false)));
    assert_eq!(format["json_schema"]["schema"], serde_json::from_str::<Value>(SCHEMA).unwrap());
    // The invalid reply is discarded.
    let heard = ask(client, &chat, &json!({"content": "once wrong"})).await;
    assert_eq!(text_of(&heard), VALID);
    fixture.idle(&chat).await;
    assert_eq!(model.requests().len(), before + 3);
    // Two invalid replies are a failure; there is no third.
    let heard = ask(client, &chat, &json!({"content": "always wrong"})).await;
    fixture.idle(&chat).await;
    assert_eq!(model.requests().len(), before + 5);
    assert_eq!((text_of(&heard), chunks(&heard).last().unwrap()["errorText"].as_str()), (String::new(), Some(REFUSED)));
    let path = format!("/api/chats/{chat}?include=events");
    let shown = client.get(&path).await.ok(200);
    let last = list(&shown, "messages").last().unwrap();
    assert_eq!(last["metadata"], json!({"outcome": "failed", "errorText": REFUSED}));
    assert!(!shown.to_string().contains(r#"\"city\": 7"#), "{shown}");
    let mut events = list(&shown, "events").iter();
    assert!(events.any(|event| event["errorType"] == "output_invalid"), "{shown}");
    // A call of a tool is no answer; the answer after its result is checked.
    let chat = fixture.chat().await;
    let heard = ask(client, &chat, &json!({"content": "look it up"})).await;
    assert!(kinds(&heard).contains(&"tool-input-available".to_owned()), "{heard:?}");
    fixture.idle(&chat).await;
    let result = json!({"toolResults": [{"toolCallId": "c1", "output": "found"}]});
    assert_eq!(text_of(&ask(client, &chat, &result).await), VALID);
    fixture.idle(&chat).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_of_v1_chat_are_checked_with_and_without_a_session() {
    let model = Model::answering(answer_to).await;
    let (fixture, _) = fixture(&model).await;
    let client = &fixture.client;
    let begun = client.post("/v1/chat/sessions", &json!({})).await.ok(201);
    for session in [Value::Null, begun["session_id"].clone()] {
        let say = async |message: &str| {
            let message = format!("{message} {session}");
            let body = json!({"message": message, "session_id": session});
            client.post("/v1/chat", &body).await
        };
        assert_eq!(text(&say("once wrong").await.ok(200), "response"), VALID);
        let failed = say("always wrong").await;
        assert_eq!(failed.status_and_code(), (502, "RUN_FAILED".to_owned()));
        assert_eq!(failed.json()["metadata"]["error_type"], "output_invalid");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streamed_completions_have_the_whole_answer() {
    let model = Model::answering(answer_to).await;
    let (fixture, _) = fixture(&model).await;
    let scopes = [Scope::Append, Scope::Read];
    let key = fixture.operator.secret_key(&scopes, &[fixture.agent_id]).await;
    let client = bearer(&fixture.stack, &key.secret);
    eventually("a gateway that knows the key", || async {
        (client.get("/openai/v1/models").await.status == 200).then_some(())
    })
    .await;
    let call = json!({
        "index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": ""},
    });
    let input = json!({"index": 0, "function": {"arguments": "{}"}});
    for (content, text, calls, reason) in
        [("once wrong", VALID, vec![], "stop"), ("look it up", "", vec![call, input], "tool_calls")]
    {
        for store in [false, true] {
            let body = json!({
                "model": fixture.agent_id, "messages": [{"role": "user", "content": content}],
                "tools": [{"type": "function", "function": {"name": "look"}}],
                "stream": true, "store": store,
            });
            let heard = client.post("/openai/v1/chat/completions", &body).await;
            let choices = choices(&heard.text());
            let deltas = choices.iter().map(|choice| &choice["delta"]);
            let texts = deltas.clone().filter_map(|delta| delta["content"].as_str());
            assert_eq!(texts.collect::<String>(), text, "{choices:?}");
            let heard_calls: Vec<Value> =
                deltas.filter_map(|delta| delta["tool_calls"][0].as_object()).cloned().map(Value::Object).collect();
            assert_eq!(heard_calls, calls, "{choices:?}");
            assert_eq!(choices.last().unwrap()["finish_reason"], reason);
        }
    }
}

/// The choices of a streamed completion.
fn choices(stream: &str) -> Vec<Value> {
    let events = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    let chunks = events.filter_map(|json| serde_json::from_str::<Value>(json).ok());
    chunks.map(|chunk| chunk["choices"][0].clone()).collect()
}
