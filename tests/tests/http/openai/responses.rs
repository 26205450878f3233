//! `/openai/v1/responses`: answers of the scripted model, recorded and not.

mod access;
mod chains;
mod in_conversations;
mod model_server;
mod requests;
mod streams;

use serde_json::{Value, json};
use tests::http_client::{Answer, HttpClient};
use tests::model::Model;
use tests::stack::{Setup, Stack};
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::Scope;

use crate::fixture::bearer;

const PATH: &str = "/openai/v1/responses";
const CONVERSATIONS: &str = "/openai/v1/conversations";
const ALL: [Scope; 3] = [Scope::Append, Scope::Read, Scope::Erase];

/// A system whose agents `support` and `sales` have the scripted model, and a key of `support`.
async fn setup(model: &Model) -> (Stack, HttpClient) {
    setup_with(model.settings_as("scripted")).await
}

/// The same with other settings of the server `scripted`.
pub(super) async fn setup_with(models: Value) -> (Stack, HttpClient) {
    let mut stack = Setup::tasks().prepare().await;
    stack.gateway.settings.gateway.models = serde_json::from_value(models).unwrap();
    stack.start().await;
    let operator = stack.operator().await;
    for agent in ["support", "sales"] {
        operator.agent("acme", agent).await;
        let settings = proto::AgentSettings {
            model: Some(proto::ModelSettings {
                server: "scripted".to_owned(),
                model: "gpt".to_owned(),
                ..proto::ModelSettings::default()
            }),
            ..proto::AgentSettings::default()
        };
        operator.settings(agent, settings).await;
    }
    let client = client(&stack, &ALL, &["support"]).await;
    (stack, client)
}

/// A back end with a key of these agents, which the gateway knows.
async fn client(stack: &Stack, scopes: &[Scope], agents: &[&str]) -> HttpClient {
    let operator = stack.operator().await;
    let key = operator.secret_key(scopes, agents).await;
    let client = bearer(stack, &key.secret);
    // The gateway applies changes in order: it knows the settings when it knows the key.
    client.get("/openai/v1/models").await.ok(200);
    client
}

/// Creates a response of `support`.
async fn create(client: &HttpClient, more: Value) -> Answer {
    let mut body = json!({"model": "support"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client.post(PATH, &body).await
}

fn id(response: &Value) -> &str {
    response["id"].as_str().unwrap()
}

/// The text of the only message.
fn text(response: &Value) -> &str {
    response["output"][0]["content"][0]["text"].as_str().unwrap()
}

/// Status, code and parameter of an error.
fn error(answer: &Answer) -> (u16, String, String) {
    let error = answer.json()["error"].clone();
    let member = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
    (answer.status, member("code"), member("param"))
}

/// The events of a stream, each with its number.
fn events(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    let text = String::from_utf8(answer.body.to_vec()).unwrap();
    let mut events: Vec<&str> = text.split("\n\n").collect();
    let last = events.pop();
    assert_eq!(last, Some(""), "the last event ends with a blank line");
    let event = |event: &str| -> Value {
        let (name, data) = event.split_once('\n').unwrap();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(name.strip_prefix("event: "), data["type"].as_str());
        data
    };
    events.into_iter().map(event).collect()
}

/// What the model was sent last: roles and texts.
fn last_sent(model: &Model) -> Vec<(String, String)> {
    let requests = model.requests();
    let messages = requests.last().unwrap()["messages"].as_array().unwrap();
    let sent = messages.iter().map(|message| {
        let role = message["role"].as_str().unwrap().to_owned();
        (role, message["content"].as_str().unwrap_or_default().to_owned())
    });
    sent.collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = expected.iter();
    owned.map(|(role, text)| ((*role).to_owned(), (*text).to_owned())).collect()
}
