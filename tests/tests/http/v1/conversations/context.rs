//! Contexts over HTTP: the bytes and the receipt of gRPC.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use wire::proto::operate::v1::Scope;
use wire::proto::read::v1 as proto;

use super::{created, messages, service};
use crate::fixture::Fixture;

#[tokio::test(flavor = "multi_thread")]
async fn a_context_has_the_bytes_of_its_receipt() {
    let fixture = Fixture::new().await;
    let service = service(&fixture, &[Scope::Append, Scope::Read]).await;
    let path = created(&fixture, &service).await;
    service.post(&format!("{path}/events"), &messages(3)).await.ok(200);
    for format in ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama", "canonical"] {
        let answer = service.get(&format!("{path}/context?format={format}")).await;
        let context = answer.ok(200);
        let receipt: proto::Receipt = receipt(&context);
        let body = raw_body(&answer.body);
        assert_eq!(receipt.body_sha256, Sha256::digest(&body).to_vec(), "{format}");
        assert_eq!((&context["version"], receipt.version), (&json!(4), 4));
        assert_eq!(context.get("policy"), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_replaces_that_of_the_policy() {
    let fixture = Fixture::new().await;
    let service = service(&fixture, &[Scope::Append, Scope::Read]).await;
    let path = created(&fixture, &service).await;
    service.post(&format!("{path}/events"), &messages(400)).await.ok(200);
    let context = |query: &'static str| {
        let (service, path) = (service.clone(), path.clone());
        async move { service.get(&format!("{path}/context?format=openai-chat{query}")).await }
    };
    let count = |context: &Value| context["body"]["messages"].as_array().unwrap().len();
    assert_eq!(count(&context("").await.ok(200)), 400);
    let small = context("&budget=2000").await.ok(200);
    assert!((1..400).contains(&count(&small)), "{}", count(&small));
    let policy = small["policy"].to_string();
    assert_eq!(receipt(&small).policy_digest, Sha256::digest(policy).to_vec());
    let assembled = context("&messages=7").await.ok(200);
    let few: Vec<&str> =
        assembled["body"]["messages"].as_array().unwrap().iter().map(|one| one["content"].as_str().unwrap()).collect();
    assert_eq!(few[few.len() - 7..], ["393", "394", "395", "396", "397", "398", "399"]);
    assert!(!few.contains(&"392"), "{few:?}");
    assert_eq!(count(&context("&version=5").await.ok(200)), 4);
    for (query, code, field) in [
        ("&budget=1", "FIELD_MALFORMED", json!("budget")),
        ("&messages=1001", "FIELD_OUT_OF_RANGE", json!("messages")),
        ("&version=9999", "FIELD_OUT_OF_RANGE", json!("version")),
    ] {
        let refused = context(query).await;
        assert_eq!(refused.status_and_code(), (400, code.to_owned()), "{query}");
        assert_eq!(refused.json().get("field").cloned().unwrap_or_default(), field, "{query}");
    }
    let unknown = service.get(&format!("{path}/context?format=telex")).await;
    assert_eq!(unknown.json()["field"], "format");
}

fn receipt(context: &Value) -> proto::Receipt {
    let receipt = context["receipt"].to_string();
    wire::json::read("hansard.read.v1.Receipt", &receipt).unwrap()
}

/// The bytes of the member `body`, which precedes the member `receipt`.
fn raw_body(answer: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(answer).unwrap();
    let start = text.find("\"body\":").unwrap() + "\"body\":".len();
    let end = text.find(",\"receipt\":").unwrap();
    answer[start..end].to_vec()
}
