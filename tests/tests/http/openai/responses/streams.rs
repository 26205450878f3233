//! Streams of responses: their order, how they are resumed, and how they end.

use axum::http::StatusCode;
use serde_json::{Value, json};
use tests::model::{Model, Reply};

use super::{PATH, create, error, events, id, setup};

const SECRET: &str = "sk-live-1234";

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

fn check_numbers(events: &[Value]) {
    for (expected, event) in (0..).zip(events) {
        assert_eq!(event["sequence_number"], expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_the_recorded_response() {
    let model = Model::start(|before| match before {
        0 => Reply::Text("Hello there.".to_owned()),
        _ => Reply::Call("call_1", "look"),
    })
    .await;
    let (_stack, client) = setup(&model).await;
    let tools = json!([{"type": "function", "name": "look"}]);
    for input in ["text", "call"] {
        let more = json!({"input": input, "stream": true, "tools": tools});
        let streamed = events(&create(&client, more).await);
        check_numbers(&streamed);
        assert_eq!(names(&streamed)[..2], ["response.created", "response.in_progress"]);
        assert_eq!(names(&streamed).last(), Some(&"response.completed"));
        let whole = &streamed.last().unwrap()["response"];
        let path = format!("{PATH}/{}", id(whole));
        assert_eq!(client.get(&path).await.ok(200), *whole);
        let done: Vec<&Value> = streamed
            .iter()
            .filter(|event| event["type"] == "response.output_item.done")
            .map(|event| &event["item"])
            .collect();
        assert_eq!(json!(done), whole["output"], "{input}");
        let again = client.get(&format!("{path}?stream=true")).await;
        assert_eq!(events(&again), streamed);
        let after = client.get(&format!("{path}?stream=true&starting_after=3")).await;
        assert_eq!(events(&after), streamed[4..]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_model() {
    let model = Model::start(|before| match before {
        0 => Reply::Failing("so far".to_owned(), json!({"error": {"message": SECRET}})),
        1 => Reply::Refused(StatusCode::BAD_REQUEST, json!({"error": {"message": SECRET}})),
        _ => Reply::Text("Hello.".to_owned()),
    })
    .await;
    let (_stack, client) = setup(&model).await;
    let streamed = events(&create(&client, json!({"input": "one", "stream": true})).await);
    check_numbers(&streamed);
    let last = streamed.last().unwrap();
    assert_eq!(last["type"], "response.failed");
    let whole = &last["response"];
    assert_eq!((&whole["status"], &whole["error"]["code"]), (&json!("failed"), &json!("server_error")));
    assert_eq!(whole["output"][0]["content"][0]["text"], "so far");
    assert!(!last.to_string().contains(SECRET));
    let path = format!("{PATH}/{}", id(whole));
    assert_eq!(client.get(&path).await.ok(200), *whole);
    let answer = create(&client, json!({"input": "two"})).await;
    assert_eq!(error(&answer).0, 502);
    assert_eq!(answer.headers["x-should-retry"], "false");
    assert!(!answer.json().to_string().contains(SECRET));
    // What failed is not continued.
    let more = json!({"input": "three", "previous_response_id": id(whole)});
    assert_eq!(error(&create(&client, more).await).1, "PREVIOUS_RESPONSE_NOT_COMPLETE");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_cut_off_is_incomplete() {
    let model = Model::start(|_| Reply::Empty("length")).await;
    let (_stack, client) = setup(&model).await;
    let whole = create(&client, json!({"input": "one"})).await.ok(200);
    assert_eq!(whole["status"], "incomplete");
    assert_eq!(whole["incomplete_details"], json!({"reason": "max_output_tokens"}));
}
