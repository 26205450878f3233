//! `previous_response_id`: chains of responses and their branches.

use serde_json::{Value, json};
use tests::model::{Model, Reply};

use super::{PATH, create, error, id, last_sent, pairs, setup, text};

/// A model that answers with the number of the request.
async fn counting() -> Model {
    Model::start(|before| Reply::Text(format!("answer {before}"))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_continues_without_its_instructions() {
    let model = counting().await;
    let (_stack, client) = setup(&model).await;
    let more = json!({"input": "one", "instructions": "Be brief."});
    let first = create(&client, more).await.ok(200);
    let expected = pairs(&[("system", "Be brief."), ("user", "one")]);
    assert_eq!(last_sent(&model), expected);
    let more = json!({"input": "two", "previous_response_id": id(&first)});
    let second = create(&client, more).await.ok(200);
    let chain = [("user", "one"), ("assistant", "answer 0"), ("user", "two")];
    assert_eq!(last_sent(&model), pairs(&chain));
    assert_eq!(second["previous_response_id"], first["id"]);
    assert_eq!(text(&second), "answer 1");
    for response in [&first, &second] {
        let path = format!("{PATH}/{}", id(response));
        assert_eq!(client.get(&path).await.ok(200), *response);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_leaves_the_chain_unchanged() {
    let model = counting().await;
    let (_stack, client) = setup(&model).await;
    let first = create(&client, json!({"input": "one"})).await.ok(200);
    for input in ["two", "other", "third"] {
        let more = json!({"input": input, "previous_response_id": id(&first)});
        create(&client, more).await.ok(200);
        let expected = [("user", "one"), ("assistant", "answer 0"), ("user", input)];
        assert_eq!(last_sent(&model), pairs(&expected), "{input}");
    }
    let path = format!("{PATH}/{}", id(&first));
    assert_eq!(client.get(&path).await.ok(200), first);
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_of_calls_continue_a_chain_and_each_branch() {
    let model = Model::start(|before| match before {
        0 => Reply::Call("call_1", "look"),
        _ => Reply::Text("Stars.".to_owned()),
    })
    .await;
    let (_stack, client) = setup(&model).await;
    let tools = json!([{"type": "function", "name": "look"}]);
    let more = json!({"input": "Where?", "tools": tools});
    let first = create(&client, more).await.ok(200);
    assert_eq!(first["output"].as_array().unwrap().len(), 1);
    assert_eq!(first["output"][0]["type"], "function_call");
    assert_eq!(first["output"][0]["call_id"], "call_1");
    // The second one is a branch.
    for output in ["sky", "sea"] {
        let item = json!({"type": "function_call_output", "call_id": "call_1", "output": output});
        let more = json!({"input": [item], "tools": tools, "previous_response_id": id(&first)});
        let answer = create(&client, more).await.ok(200);
        assert_eq!(text(&answer), "Stars.");
        let expected = [("user", "Where?"), ("assistant", ""), ("tool", output)];
        assert_eq!(last_sent(&model), pairs(&expected), "{output}");
        let path = format!("{PATH}/{}/input_items", id(&answer));
        let items = client.get(&path).await.ok(200);
        assert_eq!(items["data"].as_array().unwrap().len(), 1, "{items}");
        assert_eq!(items["data"][0]["output"], output);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_without_a_record_can_follow_one_with() {
    let model = counting().await;
    let (_stack, client) = setup(&model).await;
    let first = create(&client, json!({"input": "one"})).await.ok(200);
    let unrecorded = async |input: Value| {
        let more = json!({"input": input, "previous_response_id": id(&first), "store": false});
        create(&client, more).await.ok(200)
    };
    let second = unrecorded(json!("two")).await;
    let expected = [("user", "one"), ("assistant", "answer 0"), ("user", "two")];
    assert_eq!(last_sent(&model), pairs(&expected));
    assert_eq!(second["store"], false);
    // Later responses of the same conversation are not part of the chain.
    let more = json!({"input": "between", "previous_response_id": id(&first)});
    let between = create(&client, more).await.ok(200);
    unrecorded(json!("two")).await;
    assert_eq!(last_sent(&model), pairs(&expected));
    // References to items of the chain are left out, others are resolved.
    let references =
        [&first, &between].map(|response| json!({"type": "item_reference", "id": response["output"][0]["id"]}));
    unrecorded(json!(references)).await;
    let expected = [("user", "one"), ("assistant", "answer 0"), ("assistant", "answer 2")];
    assert_eq!(last_sent(&model), pairs(&expected));
    let path = format!("{PATH}/{}", id(&second));
    let (status, code, _) = error(&client.get(&path).await);
    assert_eq!((status, code.as_str()), (404, "RESPONSE_NOT_FOUND"));
    let more = json!({"input": "three", "previous_response_id": id(&second)});
    let (status, code, _) = error(&create(&client, more).await);
    assert_eq!((status, code.as_str()), (400, "previous_response_not_found"));
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_responses() {
    let model = counting().await;
    let (_stack, client) = setup(&model).await;
    let first = create(&client, json!({"input": "one"})).await.ok(200);
    let more = json!({"input": "two", "previous_response_id": id(&first)});
    let second = create(&client, more).await.ok(200);
    let path = |response| format!("{PATH}/{}", id(response));
    let (status, code, _) = error(&client.delete(&path(&first)).await);
    assert_eq!((status, code.as_str()), (400, "RESPONSE_CONTINUED"));
    for response in [&second, &first] {
        let deleted = client.delete(&path(response)).await.ok(200);
        let expected = json!({"id": response["id"], "object": "response", "deleted": true});
        assert_eq!(deleted, expected);
        for answer in [client.get(&path(response)).await, client.delete(&path(response)).await] {
            assert_eq!(error(&answer).1, "RESPONSE_NOT_FOUND");
        }
        let more = json!({"input": "three", "previous_response_id": id(response)});
        let (_, code, param) = error(&create(&client, more).await);
        let expected = ("previous_response_not_found", "previous_response_id");
        assert_eq!((code.as_str(), param.as_str()), expected);
    }
}
