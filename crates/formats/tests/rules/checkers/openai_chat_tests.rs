//! Each rule of OpenAI chat completions, satisfied and broken.

use formats::Format::OpenAiChat;
use serde_json::{Value, json};

use crate::checkers::tests::check;

fn message(role: &str, content: &Value) -> Value {
    json!({"role": role, "content": content})
}

fn called(ids: &[&str]) -> Value {
    let call = |id: &&str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    json!({"role": "assistant", "content": null, "tool_calls": ids.iter().map(call).collect::<Vec<_>>()})
}

fn answered(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "1"})
}

fn body(messages: &[Value]) -> Value {
    json!({ "messages": messages })
}

fn with(mut call: Value, place: &str, value: Value) -> Value {
    *call.pointer_mut(place).unwrap() = value;
    body(&[call, answered("a")])
}

#[test]
fn contents() {
    let u = message("user", &json!("u"));
    let good = body(&[u.clone(), message("assistant", &json!([{"type": "refusal", "refusal": "no"}]))]);
    check(
        OpenAiChat,
        "O",
        &good,
        &[
            body(&[message("function", &json!("u"))]),
            body(&[message("user", &json!(1))]),
            body(&[message("assistant", &json!([{"type": "image_url", "image_url": {"url": "u"}}]))]),
            body(&[message("user", &json!([{"type": "image_url", "image_url": {}}]))]),
            body(&[json!({"role": "user", "content": "u", "thinking": "t"})]),
            with(called(&["a"]), "/tool_calls/0/type", json!("custom")),
        ],
    );
    check(OpenAiChat, "O1", &good, &[body(&[]), json!({}), body(&[message("user", &json!([]))])]);
    check(
        OpenAiChat,
        "O2",
        &body(&[message("assistant", &json!("a")), called(&["a"])]),
        &[
            body(&[message("assistant", &Value::Null)]),
            body(&[message("assistant", &json!(""))]),
            body(&[json!({"role": "assistant"})]),
            body(&[called(&[])]),
        ],
    );
}

#[test]
fn texts_alone() {
    check(
        OpenAiChat,
        "O4",
        &body(&[message("system", &json!("s")), called(&["a"]), answered("a")]),
        &[
            body(&[message("system", &json!([{"type": "image_url", "image_url": {"url": "u"}}]))]),
            body(&[message("tool", &Value::Null)]),
            with(called(&["a"]), "/tool_calls/0/function/arguments", json!({})),
            with(called(&["a"]), "/tool_calls/0/function/arguments", json!("{")),
        ],
    );
}

#[test]
fn calls_and_results() {
    let u = || message("user", &json!("u"));
    check(
        OpenAiChat,
        "O3",
        &body(&[u(), called(&["a", "b"]), answered("b"), answered("a"), u(), called(&["a"]), answered("a")]),
        &[
            body(&[called(&["a"])]),
            body(&[answered("a")]),
            body(&[called(&["a"]), u(), answered("a")]),
            body(&[called(&["a", "b"]), answered("a"), u(), answered("b")]),
            body(&[called(&["a"]), answered("b")]),
            body(&[called(&["a"]), answered("a"), answered("a")]),
            body(&[called(&["a"]), called(&["b"]), answered("a"), answered("b")]),
            body(&[called(&["a", "a"]), answered("a"), answered("a")]),
            body(&[json!({"role": "user", "content": "u", "tool_calls": []})]),
        ],
    );
}

#[test]
fn ids_and_names() {
    let good = body(&[called(&["a"]), answered("a")]);
    let id = |id: &str| body(&[called(&[id]), answered(id)]);
    check(OpenAiChat, "O5", &id(&"a".repeat(40)), &[id(&"a".repeat(41)), id("")]);
    let name = |name: &str| with(called(&["a"]), "/tool_calls/0/function/name", json!(name));
    check(
        OpenAiChat,
        "O6",
        &good,
        &[
            name(""),
            name(&"f".repeat(65)),
            name("a.b"),
            body(&[message("system", &json!("s")), message("developer", &json!("d"))]),
            body(&[json!({"role": "user", "content": "u", "name": "a b"})]),
        ],
    );
    check(OpenAiChat, "safe", &good, &[id("a.b"), id(&"a".repeat(41)), name("1a"), name(&"f".repeat(65))]);
}
