//! Streams of parts, as events.

use conversations::answer::Encoder as _;
use domain::event::{MessageAppended, Role, RunStarted, ToolCalled};
use domain::{
    CallId, ConversationId, Fact, JsonText, Label, Part, RunEnd, RunId, RunOutcome, RunPart, RunPartKind, ToolName,
    Version,
};
use openai_api::responses::object::{ResponseHead, ResponseObject};
use openai_api::responses::output::OutputPlace;
use openai_api::responses::request::ResponseRequest;
use runs::{Outcome, RunFold};
use serde_json::{Value, json, value::to_raw_value};
use uuid::Uuid;

use super::ResponseEvents;

fn events() -> ResponseEvents {
    let request: ResponseRequest = serde_json::from_str("{}").unwrap();
    let object = ResponseObject::in_progress(ResponseHead {
        id: "resp_1".to_owned(),
        created_at: 7,
        conversation: None,
        parameters: request.parameters("demo").unwrap(),
    });
    let conversation = ConversationId::parse("c").unwrap();
    let place = OutputPlace::of(RunId(Uuid::nil()), Version(4), &conversation);
    ResponseEvents::new(object, place)
}

/// The events of a run with these parts, from the first to the last.
fn run(kinds: Vec<RunPartKind>) -> Vec<Value> {
    let mut events = events();
    let mut fold = RunFold::new(RunStarted { run: RunId(Uuid::nil()), model: None, provider: None });
    let mut text = events.opening().unwrap();
    for (number, kind) in (1..).zip(kinds) {
        let part = RunPart { number, kind };
        fold.absorb(&part).unwrap();
        text.push_str(&events.part(part, &fold).unwrap());
    }
    if let Some(end) = fold.end() {
        text.push_str(&events.end(&Outcome::of(end, &fold.facts()), &fold));
    }
    let frames = text.strip_suffix("\n\n").unwrap().split("\n\n");
    let all: Vec<(&str, Value)> = frames.map(event).collect();
    for (expected, (name, body)) in (0..).zip(&all) {
        assert_eq!(body["sequence_number"], expected);
        assert_eq!(body["type"], *name);
    }
    all.into_iter().map(|(_, body)| body).collect()
}

/// The name and the body of a server-sent event.
fn event(frame: &str) -> (&str, Value) {
    let (name, data) = frame.strip_prefix("event: ").unwrap().split_once("\ndata: ").unwrap();
    (name, data.parse().unwrap())
}

fn names(events: &[Value]) -> Vec<&str> {
    let names = events.iter().map(|event| event["type"].as_str().unwrap());
    names.map(|name| name.strip_prefix("response.").unwrap_or(name)).collect()
}

fn message(parts: Vec<Part>, finish_reason: &str) -> Fact {
    let mut message = MessageAppended::new(Role::Assistant, parts);
    message.finish_reason = Label::parse(finish_reason).ok();
    Fact::MessageAppended(message)
}

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

fn call() -> ToolCalled {
    ToolCalled {
        call_id: CallId::parse("call_1").unwrap(),
        tool_name: ToolName::parse("look").unwrap(),
        input: JsonText::parse(r#"{"at":1}"#).unwrap(),
        signature: None,
        model: None,
        provider: None,
        provider_response_id: None,
    }
}

fn ended(outcome: RunOutcome) -> RunPartKind {
    RunPartKind::RunEnded(RunEnd { outcome, error: None })
}

fn text_delta(delta: &str) -> RunPartKind {
    RunPartKind::TextDelta(delta.to_owned())
}

/// The ids of the items that were added, with their indexes, and those that were done.
fn ids(events: &[Value], name: &str) -> Vec<(u64, String)> {
    let items = events.iter().filter(|event| event["type"] == name).map(|event| {
        let index = event["output_index"].as_u64().unwrap();
        (index, event["item"]["id"].as_str().unwrap().to_owned())
    });
    items.collect()
}

/// Every item is added once and done once, under the id that the whole response has.
fn check_items(events: &[Value], count: usize) {
    let added = ids(events, "response.output_item.added");
    let mut done = ids(events, "response.output_item.done");
    done.sort();
    assert_eq!(added, done);
    assert_eq!(added.len(), count);
    let mut output: Vec<&str> = events.last().unwrap()["response"]["output"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["id"].as_str().unwrap())
        .collect();
    let mut added: Vec<&str> = added.iter().map(|(_, id)| id.as_str()).collect();
    output.sort_unstable();
    added.sort_unstable();
    assert_eq!(added, output);
}

#[test]
fn a_text() {
    let events = run(vec![
        text_delta("Hel"),
        text_delta("lo"),
        RunPartKind::StepFinished(vec![message(vec![text("Hello")], "stop")]),
        ended(RunOutcome::Completed),
    ]);
    assert_eq!(
        names(&events),
        [
            "created",
            "in_progress",
            "output_item.added",
            "content_part.added",
            "output_text.delta",
            "output_text.delta",
            "output_text.done",
            "content_part.done",
            "output_item.done",
            "completed",
        ]
    );
    check_items(&events, 1);
    let whole = &events[9]["response"];
    assert_eq!(whole["status"], "completed");
    assert_eq!(whole["output"][0]["content"][0]["text"], "Hello");
    assert_eq!(events[6]["text"], "Hello");
}

#[test]
fn thoughts_text_and_a_call() {
    let thought = Part::Thinking { text: "hm".to_owned(), signature: None };
    let facts = vec![message(vec![thought, text("Yes.")], "tool_calls"), Fact::ToolCalled(call())];
    let events = run(vec![
        RunPartKind::ThinkingDelta("hm".to_owned()),
        text_delta("Yes."),
        RunPartKind::CallBegan { index: 0, call_id: call().call_id, tool_name: call().tool_name },
        RunPartKind::CallInput { index: 0, fragment: r#"{"at":1}"#.to_owned() },
        RunPartKind::StepFinished(facts),
        ended(RunOutcome::Completed),
    ]);
    assert_eq!(
        names(&events),
        [
            "created",
            "in_progress",
            "output_item.added",
            "reasoning_summary_part.added",
            "reasoning_summary_text.delta",
            "reasoning_summary_text.done",
            "reasoning_summary_part.done",
            "output_item.done",
            "output_item.added",
            "content_part.added",
            "output_text.delta",
            "output_item.added",
            "function_call_arguments.delta",
            "output_text.done",
            "content_part.done",
            "output_item.done",
            "function_call_arguments.done",
            "output_item.done",
            "completed",
        ]
    );
    check_items(&events, 3);
    assert_eq!(events[17]["item"]["status"], "completed");
    assert_eq!(events[17]["item"]["arguments"], r#"{"at":1}"#);
}

#[test]
fn an_answer_without_deltas_is_streamed_whole() {
    let facts = vec![message(vec![text("Yes.")], "stop"), Fact::ToolCalled(call())];
    let events = run(vec![RunPartKind::StepFinished(facts), ended(RunOutcome::Completed)]);
    check_items(&events, 2);
    let delta = events.iter().find(|event| event["type"] == "response.output_text.delta");
    assert_eq!(delta.unwrap()["delta"], "Yes.");
}

#[test]
fn a_message_that_only_calls_is_no_item() {
    let facts = vec![message(Vec::new(), "tool_calls"), Fact::ToolCalled(call())];
    let events = run(vec![RunPartKind::StepFinished(facts), ended(RunOutcome::Completed)]);
    check_items(&events, 1);
}

#[test]
fn ends_of_runs() {
    let check = |outcome: RunOutcome, finish_reason: &str, expected: (&str, &str)| {
        let events =
            run(vec![RunPartKind::StepFinished(vec![message(vec![text("x")], finish_reason)]), ended(outcome)]);
        let last = events.last().unwrap();
        let status = last["response"]["status"].as_str().unwrap();
        assert_eq!((last["type"].as_str().unwrap(), status), expected);
    };
    check(RunOutcome::Completed, "stop", ("response.completed", "completed"));
    check(RunOutcome::Completed, "max_tokens", ("response.incomplete", "incomplete"));
    check(RunOutcome::Stopped, "stop", ("response.incomplete", "cancelled"));
    check(RunOutcome::Failed, "stop", ("response.failed", "failed"));
    check(RunOutcome::Abandoned, "stop", ("response.failed", "failed"));
}

#[test]
fn a_stopped_answer_keeps_its_text() {
    let events = run(vec![text_delta("so far"), ended(RunOutcome::Stopped)]);
    check_items(&events, 1);
    let whole = &events.last().unwrap()["response"];
    assert_eq!(whole["output"][0]["content"][0]["text"], "so far");
    assert_eq!(whole["output"][0]["status"], "incomplete");
}

#[test]
fn a_response_repeats_its_request() {
    let tool = json!({"type": "function", "name": "look", "parameters": {"type": "object"}});
    let body = json!({"tools": [tool], "tool_choice": "none", "metadata": {"a": "b"}});
    let request: ResponseRequest = serde_json::from_str(&body.to_string()).unwrap();
    let head = ResponseHead {
        id: "resp_1".to_owned(),
        created_at: 7,
        conversation: Some("conv_1".to_owned()),
        parameters: request.parameters("demo").unwrap(),
    };
    let object = to_raw_value(&ResponseObject::in_progress(head)).unwrap();
    let object: Value = serde_json::from_str(object.get()).unwrap();
    for (name, expected) in [
        ("tools", json!([tool])),
        ("tool_choice", json!("none")),
        ("metadata", json!({"a": "b"})),
        ("conversation", json!({"id": "conv_1"})),
        ("status", json!("in_progress")),
        ("model", json!("demo")),
    ] {
        assert_eq!(object[name], expected, "{name}");
    }
}
