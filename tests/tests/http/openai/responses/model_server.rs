//! A model server that speaks Responses receives Responses, from every API.

use serde_json::{Value, json};
use tests::http_client::HttpClient;
use tests::model::{Model, Reply};

use super::{create, events, id, setup_with, text};

/// The kinds of the items that the server was sent last.
fn sent(model: &Model) -> Vec<Value> {
    let requests = model.requests();
    let input = requests.last().unwrap()["input"].as_array().unwrap();
    input.iter().map(|item| item["type"].clone()).collect()
}

/// The ids of the items of a stream, in their order.
fn added_ids(events: &[Value]) -> Vec<&Value> {
    let added = events.iter().filter(|event| event["type"] == "response.output_item.added");
    added.map(|event| &event["item"]["id"]).collect()
}

/// The ids of the items of a response.
fn output_ids(response: &Value) -> Vec<&Value> {
    let output = response["output"].as_array().unwrap().iter();
    output.map(|item| &item["id"]).collect()
}

/// A client may keep the history itself, with the reasoning as an item of its own.
async fn check_kept_history(client: &HttpClient, model: &Model, reasoning: &Value) {
    let history = json!([
        {"role": "user", "content": "Where?"}, reasoning,
        {"role": "assistant", "content": "In Leeds."}, {"role": "user", "content": "Why?"}
    ]);
    let unrecorded = create(client, json!({"input": history, "store": false})).await;
    assert_eq!(unrecorded.ok(200)["output"][1]["content"][0]["text"], "In Leeds.");
    assert_eq!(sent(model), ["message", "reasoning", "message", "message"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_responses_gets_responses() {
    let model = Model::start(|before| match before {
        0 => Reply::Call("call_1", "look"),
        _ => Reply::Text("In Leeds.".to_owned()),
    })
    .await;
    let (_stack, client) = setup_with(model.responses_settings_as("scripted")).await;
    let tool = json!({"type": "function", "name": "look", "parameters": {"type": "object"}});
    let options = |more: Value| {
        let mut options = json!({"tools": [tool], "instructions": "Be kind.", "max_output_tokens": 9});
        options.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        options
    };
    let asked = create(&client, options(json!({"input": "Where?"}))).await.ok(200);
    assert_eq!(asked["output"][0]["name"], "look");
    let first = model.requests().remove(0);
    assert_eq!((&first["tools"][0]["name"], &first["max_output_tokens"]), (&json!("look"), &json!(9)));
    assert_eq!(first["instructions"], "Be kind.");
    let output = json!({"type": "function_call_output", "call_id": "call_1", "output": "Leeds"});
    let more = json!({"input": [output], "previous_response_id": id(&asked)});
    let told = create(&client, options(more)).await.ok(200);
    assert_eq!(sent(&model), ["message", "function_call", "function_call_output"]);
    let reasoning = &told["output"][0];
    assert_eq!((&reasoning["type"], &reasoning["encrypted_content"]), (&json!("reasoning"), &json!("sealed")));
    assert_eq!(told["output"][1]["content"][0]["text"], "In Leeds.");
    let more = json!({"input": "Since when?", "previous_response_id": id(&told), "stream": true});
    let streamed = events(&create(&client, more).await);
    let last = streamed.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    // The thoughts that the server streams are not in its item, so no other item shows them.
    assert_eq!(added_ids(&streamed), output_ids(&last["response"]));
    let answer = ["function_call_output", "reasoning", "message", "message"];
    assert_eq!(sent(&model)[2..], answer);
    check_kept_history(&client, &model, reasoning).await;
    let body = json!({"model": "support", "messages": [{"role": "user", "content": "Where?"}]});
    let completion = client.post("/openai/v1/chat/completions", &body).await;
    let message = completion.ok(200)["choices"][0]["message"].clone();
    assert_eq!(message["content"], "In Leeds.");
    assert_eq!(sent(&model), ["message"]);
    let plain = create(&client, json!({"input": "x"})).await.ok(200);
    assert_eq!(text(&json!({"output": [plain["output"][1]]})), "In Leeds.");
}
