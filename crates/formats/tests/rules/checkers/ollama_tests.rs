//! Each rule of Ollama, satisfied and broken.

use formats::Format::Ollama;
use serde_json::{Value, json};

use crate::checkers::tests::check;

fn message(role: &str) -> Value {
    json!({"role": role, "content": "t"})
}

fn called(id: &str) -> Value {
    let call = json!({"id": id, "function": {"name": "f", "arguments": {}}});
    json!({"role": "assistant", "content": "", "tool_calls": [call]})
}

fn answered(id: &str) -> Value {
    json!({"role": "tool", "content": "1", "tool_name": "f", "tool_call_id": id})
}

fn body(messages: &[Value]) -> Value {
    json!({"truncate": false, "options": {"num_ctx": 4096}, "messages": messages})
}

fn with(mut message: Value, place: &str, value: Value) -> Value {
    *message.pointer_mut(place).unwrap() = value;
    body(&[message, answered("a")])
}

fn request(field: &str, value: Value) -> Value {
    let mut body = body(&[message("system")]);
    body[field] = value;
    body
}

#[test]
fn messages() {
    let good = body(&[
        message("system"),
        json!({"role": "user", "content": "", "images": ["AA=="]}),
        json!({"role": "assistant", "content": "a", "thinking": "t"}),
    ]);
    check(
        Ollama,
        "L",
        &good,
        &[
            body(&[json!({"role": "user", "content": "u", "name": "n"})]),
            body(&[json!({"role": "user", "content": "u", "thinking": "t"})]),
            body(&[json!({"role": "assistant", "content": ""})]),
            body(&[json!({"role": "assistant", "content": "a", "tool_calls": []})]),
        ],
    );
    check(
        Ollama,
        "L1",
        &good,
        &[
            body(&[]),
            body(&[message("developer")]),
            body(&[json!({"role": "user", "content": [{"type": "text", "text": "u"}]})]),
            body(&[json!({"role": "assistant", "tool_calls": []})]),
            body(&[json!({"role": "user", "content": "", "images": ["https://a/b.png"]})]),
            body(&[json!({"role": "user", "content": "", "images": ["data:image/png;base64,AA=="]})]),
            body(&[json!({"role": "user", "content": "", "images": [{}]})]),
        ],
    );
}

#[test]
fn requests() {
    let good = body(&[message("system"), message("user")]);
    check(
        Ollama,
        "L4",
        &good,
        &[body(&[message("user"), message("system")]), body(&[]), body(&[json!({"role": "system", "content": " "})])],
    );
    check(
        Ollama,
        "L5",
        &good,
        &[
            request("truncate", json!(true)),
            request("truncate", Value::Null),
            request("options", json!({})),
            request("options", json!({"num_ctx": 0})),
        ],
    );
    check(Ollama, "L6", &good, &[request("think", json!(true)), request("think", json!(false))]);
}

#[test]
fn calls_and_results() {
    let good = body(&[message("user"), called("a"), answered("a"), called("b"), answered("b")]);
    check(
        Ollama,
        "L2",
        &good,
        &[
            with(called("a"), "/tool_calls/0/function/arguments", json!("{}")),
            with(called("a"), "/tool_calls/0/function/arguments", json!([])),
            with(called("a"), "/tool_calls/0/function/name", json!("")),
            with(called("a"), "/tool_calls/0/function/name", json!("g")),
            body(&[called("a"), json!({"role": "tool", "content": "1", "tool_name": "f"})]),
            body(&[called("a"), json!({"role": "tool", "content": "1", "tool_call_id": "a"})]),
        ],
    );
    check(
        Ollama,
        "L3",
        &good,
        &[
            body(&[called("a")]),
            body(&[called("a"), message("user"), answered("a")]),
            body(&[answered("a")]),
            body(&[called("a"), answered("b")]),
        ],
    );
    check(
        Ollama,
        "safe",
        &good,
        &[
            with(called("a"), "/tool_calls/0/function/name", json!("a.b")),
            with(called("a"), "/tool_calls/0/id", json!("a".repeat(41))),
            body(&[answered("a.b")]),
            body(&[with(answered("a"), "/tool_name", json!("1"))["messages"][0].clone()]),
        ],
    );
}
