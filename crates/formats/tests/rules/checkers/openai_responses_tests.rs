//! Each rule of OpenAI's Responses, satisfied and broken.

use formats::Format::OpenAiResponses;
use serde_json::{Value, json};

use crate::checkers::tests::check;

fn message(role: &str, content: &Value) -> Value {
    json!({"type": "message", "role": role, "content": content})
}

fn u() -> Value {
    message("user", &json!([{"type": "input_text", "text": "u"}]))
}

fn a() -> Value {
    json!({"role": "assistant", "content": "a"})
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"})
}

fn output(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "1"})
}

fn reasoning(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": []})
}

fn body(input: &[Value]) -> Value {
    json!({ "input": input })
}

fn with(item: Value, field: &str, value: Value) -> Value {
    let mut item = item;
    item[field] = value;
    body(&[item])
}

#[test]
fn items_have_their_form() {
    check(
        OpenAiResponses,
        "R",
        &body(&[u(), a(), call("a"), output("a")]),
        &[
            body(&[]),
            body(&[json!({"type": "odd"})]),
            body(&[json!(1)]),
            body(&[message("tool", &json!("t"))]),
            body(&[message("user", &json!(""))]),
            body(&[message("user", &json!([]))]),
            body(&[message("user", &json!([{"type": "output_text", "text": "u"}]))]),
            body(&[message("assistant", &json!([{"type": "input_text", "text": "u"}]))]),
            body(&[message("user", &json!([{"type": "input_image"}]))]),
        ],
    );
    check(
        OpenAiResponses,
        "R4",
        &body(&[reasoning("rs_1"), call("a"), output("a")]),
        &[
            body(&[reasoning("x")]),
            with(u(), "id", json!("x")),
            with(call("a"), "id", json!("fc_1")),
            with(output("a"), "id", json!("fco_1")),
        ],
    );
    let mut stored = body(&[u()]);
    stored["previous_response_id"] = json!("resp_1");
    check(
        OpenAiResponses,
        "R6",
        &body(&[reasoning("rs_1"), a(), reasoning("rs_2"), a()]),
        &[body(&[reasoning("rs_1"), a(), reasoning("rs_1"), a()]), stored],
    );
    let mut instructed = body(&[u()]);
    instructed["instructions"] = json!(" ");
    check(
        OpenAiResponses,
        "R7",
        &with(a(), "phase", json!("commentary")),
        &[
            instructed,
            with(a(), "phase", json!("odd")),
            with(u(), "phase", json!("commentary")),
            body(&[message("system", &json!("s")), message("developer", &json!("d"))]),
        ],
    );
}

#[test]
fn outputs_right_after_their_calls() {
    check(
        OpenAiResponses,
        "R2 adjacent",
        &body(&[u(), call("a"), output("a"), reasoning("rs_1"), call("b"), output("b"), a()]),
        &[
            body(&[call("a"), call("b"), output("a"), output("b")]),
            body(&[call("a"), call("b"), output("b"), output("a")]),
            body(&[call("a"), a(), output("a")]),
            body(&[call("a"), output("b")]),
            body(&[call("a")]),
            body(&[output("a")]),
        ],
    );
}

#[test]
fn calls_outputs_and_reasoning() {
    let good = body(&[u(), call("a"), call("b"), output("b"), output("a"), a()]);
    check(
        OpenAiResponses,
        "R1",
        &good,
        &[
            body(&[call("a")]),
            body(&[output("a")]),
            body(&[output("a"), call("a")]),
            body(&[call("a"), output("a"), output("a")]),
            body(&[call("a"), output("a"), call("a")]),
        ],
    );
    check(
        OpenAiResponses,
        "R2",
        &good,
        &[
            body(&[call("a"), u(), output("a")]),
            body(&[call("a"), call("b"), output("a"), a(), output("b")]),
            body(&[call("a"), call("b"), output("a"), call("c"), output("b"), output("c")]),
            body(&[call("a")]),
        ],
    );
    check(
        OpenAiResponses,
        "R3",
        &body(&[reasoning("rs_1"), a(), reasoning("rs_2"), call("a")]),
        &[
            body(&[reasoning("rs_1")]),
            body(&[reasoning("rs_1"), u()]),
            body(&[reasoning("rs_1"), reasoning("rs_2"), a()]),
            body(&[call("a"), reasoning("rs_1"), output("a")]),
        ],
    );
}

#[test]
fn ids_and_names() {
    let named = |name: &str| with(call("a"), "name", json!(name));
    check(
        OpenAiResponses,
        "R5",
        &body(&[call(&"a".repeat(64)), output("a")]),
        &[
            body(&[call(&"a".repeat(65))]),
            body(&[output("")]),
            named(&"f".repeat(129)),
            named("a.b"),
            with(call("a"), "arguments", json!({})),
            with(output("a"), "output", json!(1)),
            with(output("a"), "output", json!([])),
            with(output("a"), "output", json!([{"type": "text", "text": "t"}])),
            with(output("a"), "output", json!("x".repeat(10_485_761))),
        ],
    );
    check(
        OpenAiResponses,
        "safe",
        &body(&[call("a"), output("a")]),
        &[body(&[call("a.b")]), body(&[output(&"a".repeat(41))]), named("1f"), named(&"f".repeat(65))],
    );
}
