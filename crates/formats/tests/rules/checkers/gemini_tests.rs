//! Each rule of Gemini, satisfied and broken.

use formats::Format::Gemini;
use serde_json::{Value, json};

use crate::checkers::tests::check;

fn content(role: &str, parts: &[Value]) -> Value {
    json!({"role": role, "parts": parts})
}

fn message(role: &str) -> Value {
    content(role, &[json!({"text": "t"})])
}

fn call(id: &str) -> Value {
    json!({"functionCall": {"id": id, "name": "f", "args": {}}, "thoughtSignature": "s"})
}

fn response(id: &str) -> Value {
    json!({"functionResponse": {"id": id, "name": "f", "response": {"output": 1}}})
}

fn body(contents: &[Value]) -> Value {
    json!({ "contents": contents })
}

fn answered(call: Value, response: Value) -> Value {
    body(&[message("user"), content("model", &[call]), content("user", &[response])])
}

fn with(mut part: Value, place: &str, value: Value) -> Value {
    *part.pointer_mut(place).unwrap() = value;
    part
}

#[test]
fn contents_and_parts() {
    let good = body(&[message("user"), message("model"), message("user")]);
    let user = |part: Value| body(&[content("user", &[part])]);
    check(
        Gemini,
        "G",
        &good,
        &[
            user(json!({"text": "t", "odd": 1})),
            user(json!({"text": "t", "inlineData": {"mimeType": "image/png", "data": "AA=="}})),
            user(json!({"thought": true})),
            user(json!({"inlineData": {"data": "AA=="}})),
            user(json!({"fileData": {"mimeType": "image/png"}})),
            user(call("a")),
            body(&[content("model", &[response("a")])]),
            body(&[content("model", &[with(call("a"), "/functionCall/args", json!([]))])]),
            body(&[json!({"role": "user", "parts": [{"text": "t"}], "name": "n"})]),
        ],
    );
    let mut instructed = good.clone();
    instructed["systemInstruction"] = json!({"parts": []});
    let mut empty = good.clone();
    empty["systemInstruction"] = json!({"parts": [{"text": ""}]});
    check(
        Gemini,
        "G1",
        &good,
        &[body(&[]), body(&[message("system")]), body(&[message("function")]), instructed, empty],
    );
    check(Gemini, "G2", &good, &[user(json!({"text": ""})), user(json!({})), body(&[content("user", &[])])]);
}

#[test]
fn roles_alternate() {
    let good = body(&[message("user"), message("model"), message("user")]);
    check(Gemini, "G6", &good, &[body(&[message("user"), message("model")])]);
    check(
        Gemini,
        "G7",
        &good,
        &[body(&[message("user"), message("user")]), body(&[message("user"), message("model"), message("model")])],
    );
}

#[test]
fn calls_and_responses() {
    let (calls, text) = (|| content("model", &[call("a"), call("b")]), json!({"text": "t"}));
    let both = content("user", &[response("a"), response("b"), text.clone()]);
    let good = body(&[message("user"), calls(), both.clone(), calls(), both.clone()]);
    check(
        Gemini,
        "G3",
        &good,
        &[
            body(&[calls(), both.clone()]),
            body(&[message("model"), calls(), both]),
            body(&[message("user"), calls()]),
            body(&[message("user"), calls(), message("user")]),
            body(&[message("user"), calls(), content("user", &[response("a")]), content("user", &[response("b")])]),
            body(&[message("user"), calls(), content("user", &[text, response("a"), response("b")])]),
            body(&[content("user", &[response("a")])]),
        ],
    );
    let bad = |place: &str, value: Value| answered(call("a"), with(response("a"), place, value));
    check(
        Gemini,
        "G4",
        &good,
        &[
            bad("/functionResponse/name", json!("")),
            bad("/functionResponse/name", json!("g")),
            bad("/functionResponse/id", json!("b")),
            bad("/functionResponse/response", json!(1)),
            bad("/functionResponse/response", json!({"result": 1})),
            bad("/functionResponse/response", json!({"output": 1, "error": 1})),
        ],
    );
}

#[test]
fn signatures() {
    let unsigned = json!({"functionCall": {"name": "f", "args": {}}});
    let parallel = |first: Value, second: Value| body(&[content("model", &[first, second])]);
    check(
        Gemini,
        "G5",
        &parallel(call("a"), unsigned.clone()),
        &[
            parallel(unsigned.clone(), call("b")),
            parallel(json!({"text": "t", "thoughtSignature": "s"}), unsigned),
            parallel(with(call("a"), "/thoughtSignature", json!("")), call("b")),
            parallel(call("a"), json!({"text": "t", "thoughtSignature": ""})),
        ],
    );
}

#[test]
fn names_and_ids() {
    let named = |name: &str| {
        let call = with(call("a"), "/functionCall/name", json!(name));
        answered(call, with(response("a"), "/functionResponse/name", json!(name)))
    };
    check(
        Gemini,
        "G8",
        &named(&format!("_{}", "a.:-".repeat(31))),
        &[named("1f"), named(""), named("a b"), named(&"f".repeat(129))],
    );
    check(
        Gemini,
        "safe",
        &named("f"),
        &[
            named("a.b"),
            named(&"f".repeat(65)),
            answered(call("a.b"), response("a.b")),
            answered(call("a"), with(response("a"), "/functionResponse/id", json!("a".repeat(41)))),
        ],
    );
}
