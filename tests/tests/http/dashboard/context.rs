//! What the model read: the same bytes as agents get, outcomes, prefixes, other policies and verified receipts.

use serde_json::Value;
use tests::dashboard::Browser;
use tests::events::{assistant, call, result, user};
use wire::proto::operate::v1::DashboardRole;
use wire::proto::read::v1::{AssembleContextRequest, ContextFormat};

use super::transcript::person;
use crate::fixture::Fixture;

const PATH: &str = "/dashboard/conversations/c/context";
const FORMATS: [(&str, ContextFormat); 6] = [
    ("canonical", ContextFormat::Canonical),
    ("openai-chat", ContextFormat::OpenaiChat),
    ("openai-responses", ContextFormat::OpenaiResponses),
    ("anthropic", ContextFormat::Anthropic),
    ("gemini", ContextFormat::Gemini),
    ("ollama", ContextFormat::Ollama),
];

async fn fixture() -> (Fixture, Browser) {
    let fixture = Fixture::new().await;
    fixture.agent.create("c").await;
    let events = vec![
        user("Where is my parcel? ".repeat(300)),
        call("a", r#"{"order":7}"#),
        result("a", r#"{"place":"Leeds"}"#),
        assistant("In Leeds."),
        user("And now?"),
        assistant("Still in Leeds."),
        user("Thanks."),
    ];
    fixture.agent.append("c", events).await;
    let browser = person(&fixture, DashboardRole::Viewer).await;
    (fixture, browser)
}

/// The text of the receipt's field.
fn receipt(page: &str) -> String {
    let (_, field) = page.split_once("name=\"receipt\"").unwrap();
    let (_, text) = field.split_once('>').unwrap();
    let (text, _) = text.split_once("</textarea>").unwrap();
    text.replace("&quot;", "\"").replace("&amp;", "&")
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_those_that_agents_get() {
    let (fixture, browser) = fixture().await;
    for (name, format) in FORMATS {
        for version in [2, 5, 8] {
            let request = AssembleContextRequest {
                target: Some(fixture.agent.read_target("c")),
                at_version: version,
                format: format.into(),
                ..AssembleContextRequest::default()
            };
            let context = fixture.agent.caller().read().assemble_context(request).await.unwrap().into_inner();
            let path = format!("{PATH}/body?version={version}&format={name}");
            let body = browser.get(&path).await;
            assert_eq!(body.body, context.body, "{name} at {version}");
            let page = browser.get(&format!("{PATH}?version={version}&format={name}")).await;
            let sha256 = hex::encode(&context.receipt.unwrap().body_sha256);
            assert!(page.text().contains(&sha256), "{name} at {version}");
        }
    }
    let unknown = browser.get(&format!("{PATH}?format=none")).await;
    assert_eq!(unknown.status, 400);
    let later = browser.get(&format!("{PATH}?version=9")).await;
    assert_eq!(later.status, 400, "{}", later.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_compares_with_the_previous_answer() {
    let (_fixture, browser) = fixture().await;
    let page = browser.get(PATH).await.text();
    // The model wrote event 7 after it had read up to event 6.
    assert!(page.contains("equal to the context at event 6"), "{page}");
    assert!(page.contains("The reusable prefix ends in this piece"), "{page}");
    assert!(page.contains("<ins>+ "), "{page}");
    assert!(page.contains("Still in Leeds."), "{page}");
    let chosen = browser.get(&format!("{PATH}?version=8&before=2&format=")).await.text();
    assert!(chosen.contains("equal to the context at event 2"), "{chosen}");
    let first = browser.get(&format!("{PATH}?version=2&before=")).await.text();
    assert!(!first.contains("equal to the context"), "{first}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_budget_is_shown_beside_with_its_omissions() {
    let (_fixture, browser) = fixture().await;
    let budget = browser.post(PATH, &[("version", "8"), ("budget", "300")]).await;
    let text = budget.text();
    assert_eq!(budget.status, 200, "{text}");
    assert!(text.contains("By the other policy"), "{text}");
    assert!(text.contains("omitted: the budget has no room (stage: select)"), "{text}");
    let policy = r#"{"instructions":"Answer in rhymes."}"#;
    let policy = browser.post(PATH, &[("version", "8"), ("policy", policy)]).await.text();
    assert!(policy.contains("Answer in rhymes."), "{policy}");
    for (field, value) in [("policy", "{\"none\":1}"), ("budget", "1")] {
        let wrong = browser.post(PATH, &[(field, value)]).await;
        assert_eq!(wrong.status, 200);
        assert!(wrong.text().contains("The other policy: "), "{}", wrong.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn receipts_are_verified() {
    let (fixture, browser) = fixture().await;
    let shown = receipt(&browser.get(&format!("{PATH}?version=5&format=gemini")).await.text());
    let verify = async |receipt: &str| {
        let answer = browser.post(&format!("{PATH}/verify"), &[("receipt", receipt)]).await;
        (answer.status, answer.text())
    };
    let (status, page) = verify(&shown).await;
    assert_eq!(status, 200, "{page}");
    assert!(page.contains("Equal: the context at event 5"), "{page}");
    let mut forged: Value = serde_json::from_str(&shown).unwrap();
    forged["bodySha256"] = Value::from("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
    let (_, page) = verify(&forged.to_string()).await;
    assert!(page.contains("Not equal: different: sha256"), "{page}");
    fixture.agent.create("other").await;
    let mut foreign: Value = serde_json::from_str(&shown).unwrap();
    foreign["conversationId"] = Value::from("other");
    let (_, page) = verify(&foreign.to_string()).await;
    assert!(page.contains("the receipt is of another conversation"), "{page}");
    for wrong in ["", "{", "{\"none\":1}", "{}"] {
        assert_eq!(verify(wrong).await.0, 400, "{wrong}");
    }
}
