//! What the model server gets of a request, what the response repeats, and what is rejected.

use serde_json::{Value, json};
use tests::model::{Model, Reply};

use super::{PATH, create, error, id, setup};

async fn answering() -> Model {
    Model::start(|_| Reply::Text("Hello.".to_owned())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn options_reach_the_model_and_are_repeated() {
    let model = answering().await;
    let (_stack, client) = setup(&model).await;
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let format = json!({"type": "json_schema", "name": "n", "schema": schema, "strict": true});
    let options = json!({
        "input": "hello", "instructions": "Be kind.", "temperature": 0.5, "top_p": 0.9,
        "max_output_tokens": 77, "parallel_tool_calls": false, "metadata": {"a": "b"},
        "tools": [{"type": "function", "name": "look", "parameters": schema, "strict": false}],
        "tool_choice": {"type": "function", "name": "look"}, "text": {"format": format},
        "reasoning": {"effort": "low", "summary": "auto"}, "truncation": "auto",
        "user": "ada", "unknown": {"is": "ignored"}, "include": ["reasoning.encrypted_content"],
    });
    for store in [true, false] {
        let mut more = options.clone();
        more["store"] = json!(store);
        let whole = create(&client, more).await.ok(200);
        for name in [
            "instructions",
            "temperature",
            "top_p",
            "max_output_tokens",
            "parallel_tool_calls",
            "metadata",
            "tools",
            "tool_choice",
            "text",
            "reasoning",
            "truncation",
            "user",
        ] {
            assert_eq!(whole[name], options[name], "{name}");
        }
        assert_eq!(whole["store"], store);
        let requests = model.requests();
        let sent = requests.last().unwrap();
        assert_eq!(sent["messages"][0]["content"], "Be kind.");
        assert_eq!(sent["tools"][0]["function"]["name"], "look");
        assert_eq!(sent["tool_choice"]["function"]["name"], "look");
        assert_eq!(sent["response_format"]["json_schema"]["schema"], schema);
        assert_eq!(sent["reasoning_effort"], "low");
        assert_eq!((&sent["temperature"], &sent["top_p"]), (&json!(0.5), &json!(0.9)));
    }
}

/// Without a conversation, the commit that starts the run creates one. Only an input that fills a commit needs several.
#[tokio::test(flavor = "multi_thread")]
async fn a_response_and_its_conversation_are_one_commit() {
    let model = answering().await;
    let (_stack, client) = setup(&model).await;
    // The creation, the note of the response and the start of the run share the commit with the items.
    for (items, is_one_commit) in [(1, true), (497, true), (498, false)] {
        let input: Vec<Value> = (0..items).map(|index| json!({"role": "user", "content": index.to_string()})).collect();
        let response = create(&client, json!({"input": input, "user": "ada"})).await.ok(200);
        // The id contains the conversation.
        let (_, conversation) = id(&response)["resp_".len()..].split_once('_').unwrap();
        let path = format!("/v1/conversations/{conversation}/events?limit=1000");
        let page = client.get(&path).await.ok(200);
        let events = page["events"].as_array().unwrap();
        let start = events.iter().position(|event| event["type"] == "RunStarted").expect("a start");
        assert_eq!(start, items + 2, "{response}");
        let commits = (&events[0]["commitId"], &events[start]["commitId"]);
        assert_eq!(commits.0 == commits.1, is_one_commit, "{items} items");
    }
}

/// Wrong requests, each with its field.
fn wrong_requests() -> Vec<(Value, &'static str)> {
    let mut wrong = wrong_inputs();
    wrong.extend(wrong_options());
    wrong
}

fn wrong_inputs() -> Vec<(Value, &'static str)> {
    let items = |count: usize| -> Vec<Value> {
        (0..count).map(|index| json!({"role": "user", "content": index.to_string()})).collect()
    };
    vec![
        (json!({}), "input"),
        (json!({"input": []}), "input"),
        (json!({"input": 1}), "input"),
        (json!({"input": [1]}), "input[0]"),
        (json!({"input": [{"role": "user"}]}), "input[0].content"),
        (json!({"input": items(2_001)}), "input"),
        (json!({"input": [{"type": "item_reference", "id": "msg_1"}]}), "input[0].id"),
    ]
}

fn wrong_options() -> Vec<(Value, &'static str)> {
    let nested = (0..200).fold(json!(1), |inner, _| json!([inner]));
    vec![
        (json!({"input": "x", "reasoning": {"nested": nested}, "stream": true}), "reasoning"),
        (json!({"input": "x", "tools": [{"type": "web_search"}]}), "tools[0].type"),
        (json!({"input": "x", "tool_choice": "required"}), "tool_choice"),
        (json!({"input": "x", "temperature": 2.01}), "temperature"),
        (json!({"input": "x", "top_p": -0.01}), "top_p"),
        (json!({"input": "x", "max_output_tokens": 0}), "max_output_tokens"),
        (json!({"input": "x", "truncation": "some"}), "truncation"),
        (json!({"input": "x", "text": {"format": {"type": "xml"}}}), "text.format.type"),
        (json!({"input": "x", "top_logprobs": 1}), "top_logprobs"),
        (json!({"input": "x", "prompt": {"id": "p"}}), "prompt"),
        (json!({"input": "x", "include": ["message.output_text.logprobs"]}), "include"),
        (json!({"input": "x", "background": true, "store": false}), "background"),
        (json!({"input": "x", "metadata": {"a": 1}}), "metadata"),
        (json!({"input": "x", "conversation": "a", "previous_response_id": "b"}), "previous_response_id"),
        (json!({"input": "x", "previous_response_id": "resp_1"}), "previous_response_id"),
        (json!({"input": "x", "instructions": "x".repeat(520 * 1024)}), "tools"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_requests_name_their_field() {
    let model = answering().await;
    let (_stack, client) = setup(&model).await;
    for (more, param) in wrong_requests() {
        let answer = create(&client, more.clone()).await;
        let (status, _, found) = error(&answer);
        let more = more.to_string();
        let shown = &more[..more.len().min(80)];
        assert_eq!((status, found.as_str()), (400, param), "{shown}");
    }
    assert_eq!(model.requests().len(), 0, "the model was not called");
}

#[tokio::test(flavor = "multi_thread")]
async fn values_at_their_bounds() {
    let model = answering().await;
    let (_stack, client) = setup(&model).await;
    let tools = |count: usize| -> Vec<Value> {
        (0..count).map(|index| json!({"type": "function", "name": format!("f{index}")})).collect()
    };
    let pairs = |count: usize, value: usize| -> Value {
        let pairs = (0..count).map(|pair| (pair.to_string(), json!("x".repeat(value))));
        Value::Object(pairs.collect())
    };
    let key = |chars: usize| json!({"k".repeat(chars): "x"});
    for (name, at, past) in [
        ("tools", json!(tools(128)), json!(tools(129))),
        ("metadata", pairs(16, 512), pairs(17, 1)),
        ("metadata", key(64), key(65)),
        ("metadata", pairs(1, 512), pairs(1, 513)),
        ("temperature", json!(2), json!(2.01)),
        ("top_p", json!(1), json!(1.01)),
        ("max_output_tokens", json!(1), json!(0)),
        ("user", json!("x".repeat(256)), json!("x".repeat(257))),
    ] {
        create(&client, json!({"input": "x", name: at})).await.ok(200);
        let (status, _, param) = error(&create(&client, json!({"input": "x", name: past})).await);
        assert_eq!((status, param.as_str()), (400, name));
    }
    let sized = |bytes: usize| json!({"model": "support", "input": "x", "unknown": "x".repeat(bytes)});
    let room = 4 * 1024 * 1024 - sized(0).to_string().len();
    client.post(PATH, &sized(room)).await.ok(200);
    assert_eq!(client.post(PATH, &sized(room + 1)).await.status, 413);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_items_at_its_bound() {
    let model = answering().await;
    let (_stack, client) = setup(&model).await;
    let items: Vec<Value> = (0..2_000).map(|index| json!({"role": "user", "content": index.to_string()})).collect();
    let whole = create(&client, json!({"input": items})).await.ok(200);
    let mut path = format!("{PATH}/{}/input_items?order=asc&limit=100", id(&whole));
    let mut found = 0;
    loop {
        let page = client.get(&path).await.ok(200);
        for item in page["data"].as_array().unwrap() {
            assert_eq!(item["content"][0]["text"], found.to_string());
            found += 1;
        }
        if page["has_more"] == false {
            break;
        }
        let last = page["last_id"].as_str().unwrap();
        path = format!("{PATH}/{}/input_items?order=asc&limit=100&after={last}", id(&whole));
    }
    assert_eq!(found, 2_000);
}
