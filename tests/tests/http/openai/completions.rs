//! Chat completions: requests reach the agent's model server, and answers have OpenAI's form.

use axum::http::StatusCode;
use serde_json::{Value, json};
use tests::http_client::{Answer, HttpClient};
use tests::model::{Model, Reply};
use tests::stack::{Setup, Stack};
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::Scope;

use crate::fixture::bearer;

const PATH: &str = "/openai/v1/chat/completions";
const SECRET: &str = "sk-live-1234";

/// A system with an agent whose model server is scripted, and one with the built-in model; a key of both.
async fn setup(model: &Model) -> (Stack, HttpClient) {
    let mut stack = Setup::tasks().prepare().await;
    stack.gateway.settings.gateway.models = serde_json::from_value(model.settings_as("scripted")).unwrap();
    stack.start().await;
    let operator = stack.operator().await;
    operator.agent("acme", "echo").await;
    operator.agent("acme", "support").await;
    let settings = proto::AgentSettings {
        model: Some(proto::ModelSettings {
            server: "scripted".to_owned(),
            model: "gpt".to_owned(),
            output_tokens_max: 100,
            ..proto::ModelSettings::default()
        }),
        other_models: vec!["small".to_owned(), "meta/llama".to_owned()],
        ..proto::AgentSettings::default()
    };
    operator.settings("support", settings).await;
    let scopes = [Scope::Append, Scope::Read];
    let key = operator.secret_key(&scopes, &["echo", "support"]).await;
    let client = bearer(&stack, &key.secret);
    // The gateway applies changes in order: it knows the settings when it knows the key.
    client.get("/openai/v1/models").await.ok(200);
    (stack, client)
}

fn request(model: &str, more: &Value) -> Value {
    let message = json!({"role": "user", "content": "hello"});
    let mut body = json!({"model": model, "messages": [message]});
    let more = more.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(more);
    body
}

/// The chunks of a stream, which must end with `[DONE]`.
fn chunks(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    let text = String::from_utf8(answer.body.to_vec()).unwrap();
    let mut events: Vec<&str> = text.split("\n\n").collect();
    assert_eq!(events.pop(), Some(""), "the last event ends with a blank line");
    assert_eq!(events.pop(), Some("data: [DONE]"));
    let chunk = |event: &str| -> Value {
        let json = event.strip_prefix("data: ").unwrap();
        serde_json::from_str(json).unwrap()
    };
    events.into_iter().map(chunk).collect()
}

fn param(answer: &Answer) -> (u16, String) {
    let param = &answer.json()["error"]["param"];
    (answer.status, param.as_str().unwrap_or_default().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_answers_whole_and_streamed() {
    let model = Model::start(|before| match before {
        0 | 1 => Reply::Text("Hello there.".to_owned()),
        2 | 3 => Reply::Call("call_1", "look"),
        4 | 5 => Reply::Refused(StatusCode::BAD_REQUEST, json!({"error": {"message": SECRET}})),
        _ => Reply::Failing("so far".to_owned(), json!({"error": {"message": SECRET}})),
    })
    .await;
    let (_stack, client) = setup(&model).await;
    whole_answer(&client).await;
    check_sent(&model.requests()[0]);
    streamed_answer(&client).await;
    calls_of_tools(&client).await;
    failures(&client).await;
}

/// A request with every option, and its answer.
async fn whole_answer(client: &HttpClient) {
    let function = json!({"name": "look", "description": "Looks.", "parameters": parameters(), "strict": true});
    let options = json!({
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Where?"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "call_0", "type": "function", "function": {"name": "look", "arguments": "{\"at\":\"sky\"}"}},
            ]},
            {"role": "tool", "tool_call_id": "call_0", "content": "stars"},
        ],
        "tools": [{"type": "function", "function": function}],
        "tool_choice": {"type": "function", "function": {"name": "look"}},
        "temperature": 0.5, "top_p": 0.9, "seed": 7, "stop": ["END"], "max_tokens": 1000,
        "presence_penalty": 0.1, "frequency_penalty": 0.2, "parallel_tool_calls": false,
        "response_format": {"type": "json_object"}, "unknown": {"is": "ignored"},
    });
    let whole = client.post(PATH, &request("support", &options)).await.ok(200);
    assert_eq!(whole["object"], "chat.completion");
    assert!(whole["id"].as_str().is_some_and(|id| id.starts_with("chatcmpl-")));
    assert_eq!(whole["model"], "support");
    let choice = json!({
        "index": 0, "finish_reason": "stop", "logprobs": null,
        "message": {"role": "assistant", "content": "Hello there.", "refusal": null},
    });
    assert_eq!(whole["choices"], json!([choice]));
}

fn parameters() -> Value {
    json!({"type": "object", "properties": {"at": {"type": "string"}}})
}

/// Checks what the model server got.
fn check_sent(sent: &Value) {
    for (member, expected) in [
        ("model", json!("gpt")),
        ("temperature", json!(0.5)),
        ("top_p", json!(0.9)),
        ("seed", json!(7)),
        ("stop", json!(["END"])),
        ("presence_penalty", json!(0.1)),
        ("frequency_penalty", json!(0.2)),
        ("parallel_tool_calls", json!(false)),
        ("response_format", json!({"type": "json_object"})),
        ("tool_choice", json!({"type": "function", "function": {"name": "look"}})),
        // The agent's maximum is smaller.
        ("max_completion_tokens", json!(100)),
    ] {
        assert_eq!(sent[member], expected, "{member} of {sent}");
    }
    assert_eq!(sent["tools"][0]["function"]["parameters"], parameters());
    assert_eq!(sent["tools"][0]["function"]["strict"], true);
    let roles: Vec<&Value> = sent["messages"].as_array().unwrap().iter().map(|m| &m["role"]).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool"]);
}

async fn streamed_answer(client: &HttpClient) {
    let usage = json!({"stream": true, "stream_options": {"include_usage": true}});
    let streamed = chunks(&client.post(PATH, &request("support", &usage)).await);
    assert_eq!(streamed[0]["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
    let text: String = streamed.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(text, "Hello there.");
    let (last, chunks_before) = streamed.split_last().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert!(last.as_object().unwrap().contains_key("usage"));
    assert_eq!(chunks_before.last().unwrap()["choices"][0]["finish_reason"], "stop");
    for chunk in chunks_before {
        assert_eq!((&chunk["id"], &chunk["usage"]), (&streamed[0]["id"], &Value::Null));
        assert_eq!(chunk["object"], "chat.completion.chunk");
    }
}

async fn calls_of_tools(client: &HttpClient) {
    let tools = json!({"tools": [{"type": "function", "function": {"name": "look"}}]});
    let whole = client.post(PATH, &request("support", &tools)).await.ok(200);
    let choice = &whole["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["content"], Value::Null);
    let call = json!({"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}});
    assert_eq!(choice["message"]["tool_calls"], json!([call]));
    let mut streaming = tools;
    streaming["stream"] = json!(true);
    let streamed = chunks(&client.post(PATH, &request("support", &streaming)).await);
    let calls: Vec<&Value> =
        streamed.iter().filter_map(|chunk| chunk["choices"][0]["delta"].get("tool_calls")).collect();
    assert_eq!(calls[0][0]["id"], "call_1");
    assert_eq!(calls[0][0]["function"]["name"], "look");
    let arguments: String = calls.iter().filter_map(|calls| calls[0]["function"]["arguments"].as_str()).collect();
    assert_eq!(arguments, "{}");
    assert_eq!(streamed.last().unwrap()["choices"][0]["finish_reason"], "tool_calls");
}

/// Failures before the first token have a status; later ones are the last event. The server's text is not passed on.
async fn failures(client: &HttpClient) {
    for stream in [false, true] {
        let refused = client.post(PATH, &request("support", &json!({"stream": stream}))).await;
        assert_eq!(refused.status, 502);
        assert_eq!(refused.json()["error"]["code"], "RUN_FAILED");
        assert_eq!(refused.headers["x-should-retry"], "false");
        assert!(!String::from_utf8_lossy(&refused.body).contains(SECRET));
    }
    let broken = client.post(PATH, &request("support", &json!({"stream": true}))).await;
    let text = String::from_utf8(broken.body.to_vec()).unwrap();
    assert!(text.ends_with("\n\n") && !text.contains("[DONE]") && !text.contains(SECRET), "{text}");
    let last = text.trim_end().rsplit("\n\n").next().unwrap();
    let last: Value = serde_json::from_str(last.strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(last["error"]["code"], "RUN_FAILED");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_names_a_model_that_the_agent_lists() {
    let model = Model::start(|_| Reply::Text("Hello there.".to_owned())).await;
    let (_stack, client) = setup(&model).await;
    for (name, expected) in [("support", "gpt"), ("support/small", "small"), ("support/meta/llama", "meta/llama")] {
        let whole = client.post(PATH, &request(name, &json!({}))).await.ok(200);
        assert_eq!(whole["model"], name);
        assert_eq!(model.requests().last().unwrap()["model"], expected);
        let path = format!("/openai/v1/models/{}", name.replace('/', "%2F"));
        assert_eq!(client.get(&path).await.ok(200)["id"], name);
    }
    let models = client.get("/openai/v1/models").await.ok(200);
    let listed: Vec<&Value> = models["data"].as_array().unwrap().iter().map(|model| &model["id"]).collect();
    assert_eq!(listed, ["echo", "support", "support/small", "support/meta/llama"]);
    // Neither the agent's own model, nor one of another agent, nor a part of a name.
    for name in ["support/gpt", "support/", "support/meta", "support/smal", "echo/small", "/small", "missing/small"] {
        let refused = client.post(PATH, &request(name, &json!({}))).await;
        assert_eq!(param(&refused), (404, "model".to_owned()), "{name}");
        let path = format!("/openai/v1/models/{}", name.replace('/', "%2F"));
        assert_eq!(client.get(&path).await.status, 404, "{name}");
    }
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_at_their_bounds() {
    let model = Model::start(|_| Reply::Text("never".to_owned())).await;
    let (stack, client) = setup(&model).await;
    let operator = stack.operator().await;
    let check = async |body: Value, expected: (u16, &str)| {
        let answer = client.post(PATH, &body).await;
        let actual = if answer.status == 200 { (200, String::new()) } else { param(&answer) };
        assert_eq!((actual.0, actual.1.as_str()), expected);
    };
    let messages = |count: usize| json!({"messages": vec![json!({"role": "user", "content": "x"}); count]});
    let tool = |name: usize| json!({"type": "function", "function": {"name": format!("t{name}")}});
    let tools = |count: usize| json!({"tools": (0..count).map(tool).collect::<Vec<_>>()});
    let ok = (200, "");
    check(request("echo", &json!({})), ok).await;
    check(request("echo", &messages(0)), (400, "messages")).await;
    check(request("echo", &messages(2_000)), ok).await;
    check(request("echo", &messages(2_001)), (400, "messages")).await;
    check(request("echo", &tools(128)), ok).await;
    check(request("echo", &tools(129)), (400, "tools")).await;
    check(json!({"model": "echo"}), (400, "messages")).await;
    check(json!({"messages": []}), (400, "model")).await;
    check(request("missing", &json!({})), (404, "model")).await;
    check(request("not an id", &json!({})), (404, "model")).await;
    for (more, field) in rejected() {
        let answer = client.post(PATH, &request("echo", &more)).await;
        let (status, param) = param(&answer);
        assert_eq!(status, 400, "{more}");
        assert!(field.is_none_or(|field| field == param), "{more}: {param}");
    }
    let sized = |bytes: usize| request("echo", &json!({"unknown": "x".repeat(bytes)}));
    let room = 4 * 1024 * 1024 - sized(0).to_string().len();
    check(sized(room), ok).await;
    check(sized(room + 1), (413, "")).await;
    // The scope append is needed, and nothing was recorded.
    let reader = bearer(&stack, &operator.secret_key(&[Scope::Read], &["echo"]).await.secret);
    let refused = reader.post(PATH, &request("echo", &json!({}))).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (403, &json!("MISSING_SCOPE")));
    assert!(model.requests().is_empty());
}

/// Values that are rejected, and the named field.
fn rejected() -> Vec<(Value, Option<&'static str>)> {
    vec![
        (json!({"messages": [{"role": "wizard", "content": "x"}]}), None),
        (json!({"n": 2}), Some("n")),
        (json!({"logprobs": true}), Some("logprobs")),
        (json!({"functions": []}), Some("functions")),
        (json!({"modalities": ["text", "audio"]}), Some("modalities")),
        (json!({"temperature": 3}), Some("temperature")),
        (json!({"temperature": "hot"}), Some("temperature")),
        (json!({"user": "x".repeat(257)}), Some("user")),
        (json!({"tool_choice": "required"}), Some("tool_choice")),
        (json!({"tools": [{"type": "custom", "custom": {}}]}), Some("tools[0].type")),
        // The built-in model has no such option.
        (json!({"response_format": {"type": "json_object"}}), Some("response_format")),
    ]
}
