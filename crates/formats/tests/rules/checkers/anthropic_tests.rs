//! Each rule of Anthropic, satisfied and broken.

use formats::Format::Anthropic;
use serde_json::{Value, json};

use crate::checkers::tests::check;

fn user(blocks: &[Value]) -> Value {
    json!({"role": "user", "content": blocks})
}

fn assistant(blocks: &[Value]) -> Value {
    json!({"role": "assistant", "content": blocks})
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn thought(signature: &str) -> Value {
    json!({"type": "thinking", "thinking": "t", "signature": signature})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "f", "input": {}})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": []})
}

fn body(messages: &[Value]) -> Value {
    json!({ "messages": messages })
}

fn with(block: Value, field: &str, value: Value) -> Value {
    let mut block = block;
    block[field] = value;
    body(&[assistant(&[block])])
}

fn instructed(system: Value) -> Value {
    let mut body = body(&[user(&[text_block("u")])]);
    body["system"] = system;
    body
}

#[test]
fn blocks_and_roles() {
    let (u, a) = (|| user(&[text_block("u")]), || assistant(&[text_block("a")]));
    let good = body(&[u(), a(), u()]);
    let marked = || json!({"type": "text", "text": "u", "cache_control": {"type": "ephemeral"}});
    let image = |source: Value| body(&[user(&[json!({"type": "image", "source": source})])]);
    check(
        Anthropic,
        "A",
        &good,
        &[
            body(&[json!({"role": "user"})]),
            body(&[user(&[json!({"type": "odd"})])]),
            body(&[user(&[thought("s")])]),
            body(&[user(&[call("a")])]),
            body(&[assistant(&[result("a")])]),
            image(json!({"type": "base64", "media_type": "image/tiff", "data": "AA=="})),
            image(json!({"type": "url", "url": ""})),
            instructed(json!([{"type": "image"}])),
            body(&[user(&[marked(), marked(), marked(), marked(), marked()])]),
            with(thought("s"), "cache_control", json!({"type": "ephemeral"})),
        ],
    );
    check(
        Anthropic,
        "A1",
        &good,
        &[
            body(&[]),
            body(&[a()]),
            body(&[u(), u()]),
            body(&[u(), a(), a(), u()]),
            body(&[u(), json!({"role": "system", "content": "s"})]),
        ],
    );
    check(Anthropic, "A6", &good, &[body(&[u(), a()]), body(&[])]);
    let mut empty_result = result("a");
    empty_result["content"] = json!([text_block("")]);
    let good = body(&[u(), assistant(&[call("a")]), user(&[result("a")])]);
    check(
        Anthropic,
        "A4",
        &good,
        &[
            body(&[user(&[text_block("")])]),
            body(&[user(&[text_block(" \n")])]),
            body(&[user(&[])]),
            body(&[json!({"role": "user", "content": " "})]),
            body(&[user(&[empty_result])]),
            instructed(json!([text_block(" ")])),
            instructed(json!("")),
        ],
    );
}

#[test]
fn calls_and_results() {
    let u = || user(&[text_block("u")]);
    let calls = |ids: &[&str]| assistant(&ids.iter().map(|id| call(id)).collect::<Vec<_>>());
    let good = body(&[u(), calls(&["a", "b"]), user(&[result("b"), result("a"), text_block("u")])]);
    check(
        Anthropic,
        "A2",
        &good,
        &[
            body(&[u(), calls(&["a"])]),
            body(&[u(), calls(&["a"]), u()]),
            body(&[user(&[result("a")])]),
            body(&[u(), calls(&["a"]), user(&[text_block("u"), result("a")])]),
            body(&[u(), calls(&["a", "b"]), user(&[result("a"), text_block("u"), result("b")])]),
            body(&[u(), calls(&["a"]), user(&[result("a"), result("a")])]),
            body(&[u(), calls(&["a"]), user(&[result("b")])]),
            body(&[u(), calls(&["a"]), u(), assistant(&[text_block("a")]), user(&[result("a")])]),
        ],
    );
    check(
        Anthropic,
        "A3",
        &good,
        &[
            with(call("a"), "id", json!("")),
            with(call("a"), "id", json!("a.b")),
            with(call("a"), "input", json!("{}")),
            with(call("a"), "input", json!([])),
            body(&[assistant(&[call("a"), text_block("a")])]),
            body(&[calls(&["a", "a"])]),
            body(&[calls(&["a"]), user(&[result("a")]), calls(&["a"])]),
        ],
    );
}

#[test]
fn failed_results() {
    let returned = |content: Value| {
        let mut failed = result("a");
        failed["content"] = content;
        failed["is_error"] = json!(true);
        body(&[assistant(&[call("a")]), user(&[failed])])
    };
    let image = json!({"type": "image", "source": {"type": "url", "url": "https://a"}});
    let bad = [
        returned(json!(null)),
        returned(json!("")),
        returned(json!(" ")),
        returned(json!([])),
        returned(json!([image])),
        returned(json!([text_block("no"), image])),
    ];
    let succeeded = body(&[assistant(&[call("a")]), user(&[result("a")])]);
    for good in [returned(json!([text_block("no")])), returned(json!("no")), succeeded] {
        check(Anthropic, "A9", &good, &bad);
    }
}

#[test]
fn ids_and_names() {
    let named = |name: &str| with(call("a"), "name", json!(name));
    check(Anthropic, "A8", &named(&"f".repeat(64)), &[named(&"f".repeat(65)), named(""), named("a.b")]);
    check(
        Anthropic,
        "safe",
        &named("f"),
        &[named("1f"), with(call("a"), "id", json!("a".repeat(41))), body(&[user(&[result("a.b")])])],
    );
}

#[test]
fn thoughts() {
    let good = body(&[assistant(&[thought("s"), text_block("a"), thought("s"), call("a")])]);
    check(
        Anthropic,
        "A5",
        &good,
        &[
            body(&[assistant(&[thought(""), text_block("a")])]),
            body(&[assistant(&[json!({"type": "redacted_thinking", "data": ""}), text_block("a")])]),
            body(&[assistant(&[text_block("a"), thought("s"), text_block("a")])]),
            body(&[assistant(&[thought("s")])]),
            body(&[assistant(&[thought("s"), text_block("a"), thought("s")])]),
        ],
    );
}
