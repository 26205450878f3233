//! Streams have of tool calls what the agent's settings disclose; the caller's own calls are always in them.

use axum::Router;
use axum::routing::post;
use serde_json::json;
use tests::eventually::eventually;
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::ToolCallDetail;

use super::fixture::{TurnFixture, open_settings};
use super::model::{Model, Reply};
use super::sse::{Event, EventStream, ask, kinds, text};

const OUTPUT: &str = "secret-output";

/// A webhook; returns its URL.
async fn webhook() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let routes = Router::new().route("/hook", post(async || axum::Json(json!({ "found": OUTPUT }))));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    url
}

/// Sets the detail and the webhook of the tool, and waits until the gateway applies them.
async fn set(fixture: &TurnFixture, detail: ToolCallDetail, webhook_url: &str) {
    let tool = proto::ToolSettings {
        tool_name: "search".to_owned(),
        input_schema_json: "{}".to_owned(),
        webhook_url: webhook_url.to_owned(),
        ..proto::ToolSettings::default()
    };
    let settings = proto::AgentSettings {
        model: Some(proto::ModelSettings {
            server: "slow".to_owned(),
            model: "slow".to_owned(),
            ..proto::ModelSettings::default()
        }),
        tools: vec![tool],
        frontend: Some(proto::FrontendSettings { tool_calls: detail.into(), ..proto::FrontendSettings::default() }),
        ..open_settings()
    };
    fixture.operator.settings(fixture.agent_id, settings).await;
    let name = match detail {
        ToolCallDetail::Hidden => "hidden",
        ToolCallDetail::Names | ToolCallDetail::Unspecified => "names",
        ToolCallDetail::Full => "full",
    };
    eventually("the settings", || async {
        let limits = fixture.client.get("/v1/limits").await.ok(200);
        (limits["frontend"]["tool_calls"] == name).then_some(())
    })
    .await;
}

/// The kinds of chunks about tools, and whether the output is in the stream.
fn tools_of(events: &[Event]) -> (Vec<String>, bool) {
    let mut tools = kinds(events);
    tools.retain(|kind| kind.starts_with("tool-") && kind != "tool-input-delta");
    let has_output = events.iter().any(|event| event.data.contains(OUTPUT));
    (tools, has_output)
}

fn run_of(events: &[Event]) -> &str {
    let mut ids = events.iter().filter_map(|event| event.id.as_deref());
    ids.next().unwrap().split_once(':').unwrap().0
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_have_the_disclosed_detail() {
    let model = Model::start(|before| match before % 2 {
        0 => Reply::Call("c1", "search"),
        _ => Reply::Text("found".to_owned()),
    })
    .await;
    let fixture = TurnFixture::with_model(&model, Vec::new(), |_| ()).await;
    let hook = webhook().await;
    let called = ["tool-input-start", "tool-input-available"];
    let all = [&called[..], &["tool-output-available"]].concat();
    for (detail, hook, expected, has_output) in [
        (ToolCallDetail::Full, hook.as_str(), all.as_slice(), true),
        (ToolCallDetail::Names, hook.as_str(), all.as_slice(), false),
        (ToolCallDetail::Hidden, hook.as_str(), &[], false),
        (ToolCallDetail::Unspecified, hook.as_str(), all.as_slice(), false),
        (ToolCallDetail::Hidden, "", called.as_slice(), false),
    ] {
        set(&fixture, detail, hook).await;
        let chat = fixture.chat().await;
        let events = ask(&fixture.client, &chat, &json!({"content": "q"})).await;
        let (tools, seen) = tools_of(&events);
        assert_eq!(tools, expected, "{detail:?}");
        assert_eq!(seen, has_output, "{detail:?}");
        // The page runs a tool without a webhook: the answer waits for it.
        let answer = if hook.is_empty() { "" } else { "found" };
        assert_eq!(text(&events), answer, "{detail:?}");
        fixture.idle(&chat).await;
        let path = format!("/api/chats/{chat}/stream?run={}", run_of(&events));
        let again = EventStream::open(fixture.client.request(reqwest::Method::GET, &path)).await.rest().await;
        assert_eq!(tools_of(&again), tools_of(&events), "{detail:?}");
    }
}
