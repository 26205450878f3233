//! Every end of an answer on every surface. The table is in `docs/reference/errors.md`.

use std::fmt::Write as _;
use std::time::Duration;

use axum::http::StatusCode;
use futures::future::join_all;
use gateway::GatewayConfig;
use serde_json::{Value, json};
use tests::eventually::eventually;
use tests::generated;
use tests::http_client::Answer;
use wire::proto::operate::v1 as proto;
use wire::proto::read::v1 as read;
use wire::proto::read::v1::list_conversations_request::Filter;

use super::fixture::TurnFixture;
use super::model::{Model, Reply};
use super::surfaces::{Callers, Surface, TOOL};
use crate::fixture::{list, text};

const DOCUMENT: &str = "docs/reference/errors.md";
/// Half of it is longer than the test.
const REQUEST_TIMEOUT_MS: u64 = 300_000;
/// Longer than a test waits for an answer that it stops or abandons.
const LATE: Duration = Duration::from_mins(5);

/// A way in which an answer ends: what the user says to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Completed,
    WaitsForCalls,
    CutByTokenLimit,
    Refused,
    Stopped,
    FailedForNow,
    Failed,
    Draining,
}

impl End {
    const ALL: [Self; 8] = [
        Self::Completed,
        Self::WaitsForCalls,
        Self::CutByTokenLimit,
        Self::Refused,
        Self::Stopped,
        Self::FailedForNow,
        Self::Failed,
        Self::Draining,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::WaitsForCalls => "waits for calls",
            Self::CutByTokenLimit => "cut by the token limit",
            Self::Refused => "refused",
            Self::Stopped => "stopped",
            Self::FailedForNow => "failed, for now",
            Self::Failed => "failed",
            Self::Draining => "the gateway shuts down",
        }
    }

    fn reply(self) -> Reply {
        match self {
            Self::Completed => Reply::Text("fine".to_owned()),
            Self::WaitsForCalls => Reply::Call("call_1", TOOL),
            Self::CutByTokenLimit => Reply::Ending("fi", "length"),
            Self::Refused => Reply::Ending("no", "content_filter"),
            Self::Stopped | Self::Draining => Reply::Late(LATE, String::new()),
            Self::FailedForNow => Reply::Refused(StatusCode::TOO_MANY_REQUESTS, json!({})),
            Self::Failed => Reply::Refused(StatusCode::UNAUTHORIZED, json!({})),
        }
    }
}

/// What a caller sees of the end.
fn seen_by(surface: Surface, answer: &Answer) -> String {
    if answer.status != 200 {
        return error(answer);
    }
    match surface {
        Surface::Chat | Surface::Turn { stream: true } => chunk(&answer.text()),
        Surface::Turn { stream: false } => "200".to_owned(),
        Surface::Completion { stream: true } => completion_chunks(&answer.text()),
        Surface::Completion { stream: false } => {
            format!("200 `{}`", text(&answer.json()["choices"][0], "finish_reason"))
        }
        Surface::Response { stream: true } => response_events(&answer.text()),
        Surface::Response { stream: false } => format!("200 {}", status(&answer.json())),
    }
}

/// What became of an end on all surfaces.
struct Seen {
    /// In the order of [`Surface::ALL`].
    answers: Vec<Answer>,
    conversations: Vec<String>,
}

/// Says the name of an end on every surface at once. `cause` ends answers that do not end by themselves, when all have begun.
async fn ask(callers: &Callers<'_>, end: End, cause: impl Future<Output = ()>) -> Seen {
    let conversations = callers.begin().await;
    let asked = Surface::ALL.into_iter().zip(&conversations);
    let answers = join_all(asked.map(|(surface, conversation)| callers.ask(surface, conversation, end.name())));
    let (answers, ()) = tokio::join!(answers, cause);
    Seen { answers, conversations }
}

/// The cells of an end: whole answers before streams, then what is stored.
async fn cells(callers: &Callers<'_>, seen: &Seen) -> Vec<String> {
    let answers: Vec<String> =
        Surface::ALL.iter().zip(&seen.answers).map(|(surface, answer)| seen_by(*surface, answer)).collect();
    let mut cells = vec![answers[0].clone()];
    cells.extend(answers[1..].chunks(2).map(|both| both.join("; stream: ")));
    let page = callers.frontend.get(&format!("/api/chats/{}", seen.conversations[0])).await.ok(200);
    cells.push(shown(list(&page, "messages").last().unwrap()));
    let events = seen.answers[6].text();
    let created = events.lines().find_map(|line| line.strip_prefix("data: ")).map(str::parse::<Value>);
    let id = created.and_then(Result::ok).map(|event| text(&event["response"], "id").to_owned());
    let stored = callers.back_end.get(&format!("/openai/v1/responses/{}", id.unwrap())).await;
    cells.push(seen_by(Surface::Response { stream: false }, &stored));
    cells
}

/// The runs of the agent that are active, with their conversations: one on every surface.
async fn active_runs(fixture: &TurnFixture) -> Vec<(String, String)> {
    eventually("a run on every surface", || async {
        let listed = fixture
            .agent
            .conversations(fixture.agent.conversations_request(Filter::WholeAgent(read::WholeAgent {})))
            .await;
        let active = listed.into_iter().filter(|one| !one.active_run_id.is_empty());
        let active: Vec<_> = active.map(|one| (one.conversation_id, one.active_run_id)).collect();
        (active.len() == Surface::ALL.len()).then_some(active)
    })
    .await
}

/// Stops the runs of every surface.
async fn stop(fixture: &TurnFixture) {
    for (conversation, run) in active_runs(fixture).await {
        fixture.agent.try_stop(fixture.agent.stop_request(&conversation, &run)).await.unwrap();
    }
}

/// Status and code, and what the answer says about a retry.
fn error(answer: &Answer) -> String {
    let body = answer.json();
    let code = body.pointer("/error/code").unwrap_or(&body["code"]);
    let mut seen = format!("{} `{}`", answer.status, code.as_str().unwrap());
    if answer.headers.contains_key("retry-after") {
        seen.push_str(", `retry-after`");
    }
    if answer.headers.get("x-should-retry").is_some_and(|value| value == "false") {
        seen.push_str(", `x-should-retry: false`");
    }
    seen
}

/// The data of the events of a stream.
fn events(stream: &str) -> Vec<&str> {
    stream.lines().filter_map(|line| line.strip_prefix("data: ")).collect()
}

/// The last chunk of the AI SDK.
fn chunk(stream: &str) -> String {
    let [.., last, "[DONE]"] = events(stream)[..] else {
        panic!("no end in {stream}");
    };
    let last: Value = last.parse().unwrap();
    match text(&last, "type") {
        "finish" => format!("`finish`: {}", text(&last, "finishReason")),
        "error" => format!("`error`: {}", text(&last, "errorText")),
        other => format!("`{other}`"),
    }
}

/// The last chunk of a completion: its finish reason and `[DONE]`, or an error.
fn completion_chunks(stream: &str) -> String {
    match events(stream)[..] {
        [.., last, "[DONE]"] => {
            let last: Value = last.parse().unwrap();
            format!("`{}`", text(&last["choices"][0], "finish_reason"))
        }
        [.., last] => {
            let last: Value = last.parse().unwrap();
            format!("error `{}`", text(&last["error"], "code"))
        }
        [] => panic!("no events"),
    }
}

/// The last event of a response.
fn response_events(stream: &str) -> String {
    let last: Value = events(stream).last().unwrap().parse().unwrap();
    match text(&last, "type") {
        "error" => format!("`error`: `{}`", text(&last, "code")),
        name => format!("`{name}`: {}", status(&last["response"])),
    }
}

/// The status of a response, and why it is incomplete.
fn status(response: &Value) -> String {
    let status = text(response, "status");
    match response.pointer("/incomplete_details/reason") {
        Some(reason) => format!("`{status}`: {}", reason.as_str().unwrap()),
        None => format!("`{status}`"),
    }
}

/// What a page shows of its last message.
fn shown(message: &Value) -> String {
    let metadata = &message["metadata"];
    match metadata["errorText"].as_str() {
        Some(error) => format!("`{}`: {error}", text(metadata, "outcome")),
        None => format!("`{}`", text(metadata, "outcome")),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_end_on_every_surface() {
    let model = Model::answering(|requests| {
        let messages = list(requests.last().unwrap(), "messages");
        let asked = messages.iter().rev().find(|message| message["role"] == "user").unwrap();
        let said = asked["content"].to_string();
        let end = End::ALL.into_iter().find(|end| said.contains(&format!("\"{}\"", end.name())));
        end.unwrap_or_else(|| panic!("an end, and not {said}")).reply()
    })
    .await;
    let tool = proto::ToolSettings {
        tool_name: TOOL.to_owned(),
        input_schema_json: "{}".to_owned(),
        ..proto::ToolSettings::default()
    };
    let settings = |gateway: &mut GatewayConfig| {
        gateway.generation.drain_ms = 500;
        // Every whole answer ends before its status must be sent, on a slow machine too.
        gateway.http.server.request_timeout_ms = REQUEST_TIMEOUT_MS;
    };
    let fixture = TurnFixture::with_model(&model, vec![tool], settings).await;
    let callers = Callers::of(&fixture, fixture.client.clone()).await;
    let header = ["end", "page, stream", "`/v1/chat`", "Completions", "Responses", "page, reloaded", "response, read"];
    let mut table = format!("\n| {} |\n|{}\n", header.join(" | "), "---|".repeat(header.len()));
    for end in End::ALL {
        let seen = match end {
            End::Stopped => ask(&callers, end, stop(&fixture)).await,
            End::Draining => {
                let (mut other, frontend) = fixture.second_gateway().await;
                let others = Callers::of(&fixture, frontend).await;
                let drain = async {
                    active_runs(&fixture).await;
                    other.stop().await;
                };
                ask(&others, end, drain).await
            }
            End::Completed
            | End::WaitsForCalls
            | End::CutByTokenLimit
            | End::Refused
            | End::FailedForNow
            | End::Failed => ask(&callers, end, std::future::ready(())).await,
        };
        fixture.idle(&seen.conversations[0]).await;
        let cells = cells(&callers, &seen).await;
        writeln!(table, "| {} | {} |", end.name(), cells.join(" | ")).unwrap();
    }
    generated::check(DOCUMENT, "outcomes", &format!("{table}\n"));
}
