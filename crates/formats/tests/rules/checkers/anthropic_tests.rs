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

fn said(text: &str) -> Value {
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
    let mut body = body(&[user(&[said("u")])]);
    body["system"] = system;
    body
}

#[test]
fn blocks_and_roles() {
    let (u, a) = (|| user(&[said("u")]), || assistant(&[said("a")]));
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
    empty_result["content"] = json!([said("")]);
    let good = body(&[u(), assistant(&[call("a")]), user(&[result("a")])]);
    check(
        Anthropic,
        "A4",
        &good,
        &[
            body(&[user(&[said("")])]),
            body(&[user(&[said(" \n")])]),
            body(&[user(&[])]),
            body(&[json!({"role": "user", "content": " "})]),
            body(&[user(&[empty_result])]),
            instructed(json!([said(" ")])),
            instructed(json!("")),
        ],
    );
}

#[test]
fn calls_and_results() {
    let u = || user(&[said("u")]);
    let calls = |ids: &[&str]| assistant(&ids.iter().map(|id| call(id)).collect::<Vec<_>>());
    let good = body(&[
        u(),
        calls(&["a", "b"]),
        user(&[result("b"), result("a"), said("u")]),
    ]);
    check(
        Anthropic,
        "A2",
        &good,
        &[
            body(&[u(), calls(&["a"])]),
            body(&[u(), calls(&["a"]), u()]),
            body(&[user(&[result("a")])]),
            body(&[u(), calls(&["a"]), user(&[said("u"), result("a")])]),
            body(&[
                u(),
                calls(&["a", "b"]),
                user(&[result("a"), said("u"), result("b")]),
            ]),
            body(&[u(), calls(&["a"]), user(&[result("a"), result("a")])]),
            body(&[u(), calls(&["a"]), user(&[result("b")])]),
            body(&[
                u(),
                calls(&["a"]),
                u(),
                assistant(&[said("a")]),
                user(&[result("a")]),
            ]),
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
            body(&[assistant(&[call("a"), said("a")])]),
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
        returned(json!([said("no"), image])),
    ];
    let succeeded = body(&[assistant(&[call("a")]), user(&[result("a")])]);
    for good in [
        returned(json!([said("no")])),
        returned(json!("no")),
        succeeded,
    ] {
        check(Anthropic, "A9", &good, &bad);
    }
}

#[test]
fn ids_and_names() {
    let named = |name: &str| with(call("a"), "name", json!(name));
    check(
        Anthropic,
        "A8",
        &named(&"f".repeat(64)),
        &[named(&"f".repeat(65)), named(""), named("a.b")],
    );
    check(
        Anthropic,
        "safe",
        &named("f"),
        &[
            named("1f"),
            with(call("a"), "id", json!("a".repeat(41))),
            body(&[user(&[result("a.b")])]),
        ],
    );
}

#[test]
fn thoughts() {
    let good = body(&[assistant(&[
        thought("s"),
        said("a"),
        thought("s"),
        call("a"),
    ])]);
    check(
        Anthropic,
        "A5",
        &good,
        &[
            body(&[assistant(&[thought(""), said("a")])]),
            body(&[assistant(&[
                json!({"type": "redacted_thinking", "data": ""}),
                said("a"),
            ])]),
            body(&[assistant(&[said("a"), thought("s"), said("a")])]),
            body(&[assistant(&[thought("s")])]),
            body(&[assistant(&[thought("s"), said("a"), thought("s")])]),
        ],
    );
}
