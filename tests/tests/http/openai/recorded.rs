//! Chat completions that are recorded: what the model reads, what the conversation has afterwards, and who may use it.

mod attacks;
mod bounds;
mod histories;
mod open_webui;
mod races;
mod retries;
mod tasks;
mod tools;

use axum::http::StatusCode;
use serde_json::{Value, json};
use tests::http_client::{Answer, HttpClient};
use tests::model::{Model, Reply};
use tests::operator::Operator;
use tests::stack::{Setup, Stack};
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::Scope;

use crate::fixture::{bearer, list, text};

const PATH: &str = "/openai/v1/chat/completions";
const CONVERSATION: &str = "x-hansard-conversation";
const AGENT: &str = "support";
const OTHER_AGENT: &str = "sales";
const FOREIGN_AGENT: &str = "globex-support";
/// The text that makes the model call a tool.
const LOOK: &str = "look";
/// The text that makes the model fail.
const FAIL: &str = "fail";

/// A system with agents of two tenants that have a scripted model, and a back end of [`AGENT`].
struct System {
    stack: Stack,
    operator: Operator,
    model: Model,
    client: HttpClient,
}

impl System {
    async fn start() -> Self {
        Self::with(answer).await
    }

    async fn with(answer: impl Fn(&[Value]) -> Reply + Send + Sync + 'static) -> Self {
        let model = Model::answering(answer).await;
        let mut stack = Setup::tasks().prepare().await;
        stack.gateway.settings.gateway.models = serde_json::from_value(model.settings_as("scripted")).unwrap();
        stack.start().await;
        let operator = stack.operator().await;
        let agents = [("acme", AGENT), ("acme", OTHER_AGENT), ("globex", FOREIGN_AGENT)];
        for (tenant, agent) in agents {
            operator.agent(tenant, agent).await;
            operator.settings(agent, settings()).await;
        }
        let client = back_end(&stack, &operator, AGENT).await;
        Self { stack, operator, model, client }
    }

    async fn back_end(&self, agent: &str) -> HttpClient {
        back_end(&self.stack, &self.operator, agent).await
    }

    /// Role and text of each message that the model got last.
    fn last_context(&self) -> Vec<(String, String)> {
        let requests = self.model.requests();
        let messages = list(requests.last().unwrap(), "messages").iter();
        messages
            .map(|message| {
                let content = message["content"].as_str().unwrap_or_default();
                (text(message, "role").to_owned(), content.to_owned())
            })
            .collect()
    }
}

fn settings() -> proto::AgentSettings {
    proto::AgentSettings {
        model: Some(proto::ModelSettings {
            server: "scripted".to_owned(),
            model: "gpt".to_owned(),
            ..proto::ModelSettings::default()
        }),
        other_models: vec!["small".to_owned()],
        ..proto::AgentSettings::default()
    }
}

async fn back_end(stack: &Stack, operator: &Operator, agent: &str) -> HttpClient {
    let scopes = [Scope::Append, Scope::Read, Scope::Erase];
    let key = operator.secret_key(&scopes, &[agent]).await;
    let client = bearer(stack, &key.secret);
    // The gateway applies changes in order: it knows the settings when it knows the key.
    client.get("/openai/v1/models").await.ok(200);
    client
}

/// Answers with the number of the request and the text that it answers.
fn answer(requests: &[Value]) -> Reply {
    let last = requests.last().unwrap();
    let message = list(last, "messages").last().unwrap();
    match message["content"].as_str().unwrap_or_default() {
        LOOK => Reply::Call("call_1", "look"),
        FAIL => Reply::Refused(StatusCode::SERVICE_UNAVAILABLE, json!({"error": {"message": "busy"}})),
        text => Reply::Text(format!("{}: {text}", requests.len())),
    }
}

fn user(content: &str) -> Value {
    json!({"role": "user", "content": content})
}

fn assistant(content: &str) -> Value {
    json!({"role": "assistant", "content": content})
}

fn body(messages: &[Value]) -> Value {
    json!({"model": AGENT, "messages": messages})
}

async fn send(client: &HttpClient, messages: &[Value]) -> Answer {
    client.post(PATH, &body(messages)).await
}

/// Sends a history, and returns it with the answer.
async fn say(client: &HttpClient, messages: &[Value]) -> Vec<Value> {
    let answer = send(client, messages).await.ok(200);
    let mut messages = messages.to_vec();
    messages.push(assistant(text(&answer["choices"][0]["message"], "content")));
    messages
}

/// The conversation that an answer names.
fn conversation(answer: &Answer) -> String {
    let id = answer.headers.get(CONVERSATION);
    id.unwrap_or_else(|| panic!("a conversation: {:?}", answer.body)).clone()
}

/// Role and text of each message of the effective history.
async fn history(client: &HttpClient, id: &str) -> Vec<(String, String)> {
    let path = format!("/openai/v1/conversations/{id}/items?order=asc&limit=100");
    let page = client.get(&path).await.ok(200);
    let items = list(&page, "data").iter();
    items
        .map(|item| match text(item, "type") {
            "message" => {
                let content = item["content"][0]["text"].as_str();
                let role = text(item, "role").to_owned();
                (role, content.unwrap_or_default().to_owned())
            }
            "function_call" => ("call".to_owned(), text(item, "call_id").to_owned()),
            _ => ("result".to_owned(), text(item, "output").to_owned()),
        })
        .collect()
}

/// The kinds of all recorded events.
async fn recorded(client: &HttpClient, id: &str) -> Vec<String> {
    let path = format!("/v1/conversations/{id}/events?limit=1000");
    let page = client.get(&path).await.ok(200);
    let events = list(&page, "events").iter();
    events.map(|event| text(event, "type").to_owned()).collect()
}

fn pairs(texts: &[(&str, &str)]) -> Vec<(String, String)> {
    let texts = texts.iter();
    texts.map(|(role, text)| ((*role).to_owned(), (*text).to_owned())).collect()
}

/// Status, code and parameter of an error.
fn error(answer: &Answer) -> (u16, String, String) {
    let error = answer.json()["error"].clone();
    let member = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
    (answer.status, member("code"), member("param"))
}

fn locked() -> (u16, String, String) {
    let texts = ["conversation_locked", "conversation"].map(str::to_owned);
    let [code, param] = texts;
    (400, code, param)
}
