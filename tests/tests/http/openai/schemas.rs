//! JSON schemas reach model servers byte for byte: models write members in the order of the schema.

use reqwest::Method;
use serde_json::Value;
use tests::http_client::{Answer, HttpClient};
use tests::model::{Model, Reply};

use super::responses::setup_with;

const COMPLETIONS: &str = "/openai/v1/chat/completions";
const RESPONSES: &str = "/openai/v1/responses";
/// A schema whose members are not in the order of the alphabet, with white space and a number that has other texts.
const SCHEMA: &str = r#"{"type": "object", "properties": {"zeta": {"type": "number", "maximum": 1.50}, "alpha": {"type": "string"}}, "required": ["zeta", "alpha"], "additionalProperties": false}"#;

/// Posts a JSON text byte for byte.
async fn post(client: &HttpClient, path: &str, body: &str) -> Answer {
    let request = client.request(Method::POST, path).header("content-type", "application/json");
    let answer = request.body(body.to_owned()).send().await.unwrap();
    Answer::read(path, answer).await
}

/// A completion with a tool and a form of this schema.
fn completion(schema: &str) -> String {
    format!(
        r#"{{"model": "support", "messages": [{{"role": "user", "content": "x"}}],
        "tools": [{{"type": "function", "function": {{"name": "look", "parameters": {schema}}}}}],
        "response_format": {{"type": "json_schema", "json_schema": {{"name": "place", "strict": true, "schema": {schema}}}}}}}"#
    )
}

/// A response with a tool and a form of this schema.
fn response(schema: &str) -> String {
    format!(
        r#"{{"model": "support", "input": "x",
        "tools": [{{"type": "function", "name": "look", "parameters": {schema}}}],
        "text": {{"format": {{"type": "json_schema", "strict": true, "schema": {schema}, "name": "place"}}}}}}"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn schemas_reach_the_model_server_byte_for_byte() {
    let model = Model::start(|_| Reply::Text("{}".to_owned())).await;
    for (settings, tool, format) in [
        (model.settings_as("scripted"), "/tools/0/function/parameters", "/response_format/json_schema"),
        (model.responses_settings_as("scripted"), "/tools/0/parameters", "/text/format"),
    ] {
        let (_stack, client) = setup_with(settings).await;
        for (path, body) in [(COMPLETIONS, completion(SCHEMA)), (RESPONSES, response(SCHEMA))] {
            post(&client, path, &body).await.ok(200);
            let sent = model.last_body();
            assert_eq!(sent.matches(SCHEMA).count(), 2, "{path}: {sent}");
            let sent: Value = serde_json::from_str(&sent).unwrap();
            assert!(sent.pointer(tool).is_some(), "{tool} of {sent}");
            let format = sent.pointer(format).unwrap();
            assert_eq!((&format["name"], format["strict"].as_bool()), (&Value::from("place"), Some(true)));
            assert!(format["schema"].is_object(), "{format}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn schemas_that_no_server_can_read_are_rejected() {
    let model = Model::start(|_| Reply::Text("{}".to_owned())).await;
    let (_stack, client) = setup_with(model.settings_as("scripted")).await;
    for schema in [r#"{"title": "\ud800"}"#, r#"{"maximum": 1e999}"#] {
        for (path, body) in [(COMPLETIONS, completion(schema)), (RESPONSES, response(schema))] {
            let refused = post(&client, path, &body).await;
            assert_eq!(refused.status, 400, "{path} {schema}: {}", refused.text());
        }
    }
    assert!(model.requests().is_empty());
}
