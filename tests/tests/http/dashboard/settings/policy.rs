//! The editor of context policies.

use tests::events::{assistant, user};
use tests::eventually::eventually;
use wire::proto::operate::v1::{GetContextPolicyRequest, Scope};

use super::{SCRIPT, administrator, agent_path, check_shown, input};
use crate::fixture::Fixture;

async fn policy(fixture: &Fixture) -> String {
    let request =
        GetContextPolicyRequest { agent_id: fixture.agent_id.to_owned(), ..GetContextPolicyRequest::default() };
    let found = fixture.operator.registry().get_context_policy(request).await;
    found.unwrap().into_inner().policy.unwrap().policy_json
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_is_previewed_and_saved() {
    let (fixture, browser) = administrator().await;
    fixture.agent.create("c").await;
    let hello = format!("hello {SCRIPT}");
    fixture.agent.append("c", vec![user(&hello), assistant("hi")]).await;
    let (path, preview) =
        (format!("{}/policy", agent_path(&fixture)), format!("{}/policy/preview", agent_path(&fixture)));
    let shown = browser.get(&path).await.text();
    let digest = input(&shown, "digest");
    let draft = "{\n \"instructions\": \"Answer in rhymes.\"\n}";
    let fields = [("policy", draft), ("digest", &*digest), ("conversation", "c")];
    let page = check_shown(&browser.post(&preview, &fields).await, 200, "By this policy");
    for text in ["Answer in rhymes.", "By the agent's policy", "hello &lt;/textarea"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert_eq!(policy(&fixture).await, "{}");
    let saved = check_shown(&browser.post(&path, &fields).await, 200, "Saved.");
    assert_eq!(policy(&fixture).await, r#"{"instructions":"Answer in rhymes."}"#);
    assert_eq!(input(&saved, "conversation"), "c");
    let log = browser.get("/dashboard/audit").await.text();
    assert!(log.contains(&format!("agent {}: context policy", fixture.agent_id)), "{log}");
    assert!(!log.contains("rhymes"), "{log}");
    eventually("the policy at this gateway", || async {
        let page = browser.get(&path).await.text();
        page.contains("rhymes").then_some(())
    })
    .await;
    // The page of before shows another policy.
    let conflict = browser.post(&path, &fields).await;
    check_shown(&conflict, 409, "the policy was changed after");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_session_records_its_view_of_a_conversation_once() {
    let (fixture, browser) = administrator().await;
    fixture.agent.create("c").await;
    let preview = format!("{}/policy/preview", agent_path(&fixture));
    let fields = [("policy", "{}"), ("conversation", "c")];
    let page = check_shown(&browser.post(&preview, &fields).await, 200, "By this policy");
    let views = async || {
        let log = browser.get("/dashboard/audit").await.text();
        log.matches("policy preview").count()
    };
    assert_eq!(views().await, 1);
    let viewed = input(&page, "viewed");
    let proven = [fields.as_slice(), &[("viewed", &*viewed)]].concat();
    check_shown(&browser.post(&preview, &proven).await, 200, "By this policy");
    assert_eq!(views().await, 1);
    for forged in ["", "AAAA", input(&page, "form_token").as_str()] {
        let forged = [fields.as_slice(), &[("viewed", forged)]].concat();
        check_shown(&browser.post(&preview, &forged).await, 200, "By this policy");
    }
    assert_eq!(views().await, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_have_a_line_and_a_column() {
    let (fixture, browser) = administrator().await;
    let path = format!("{}/policy", agent_path(&fixture));
    for (policy, expected) in [
        ("{\n \"a\"", "Line 2, column 4: </strong>"),
        ("{\n \"none\": 1}", "Line 2, column 7: </strong>"),
        ("{\"budget\":\n {\"context_tokens_max\": 1}}", "Line 2, column 25: </strong>budget.context_tokens_max"),
        ("{\"instructions\":\n\"{{ none\"}", "Line 2, column 1: </strong>instructions"),
    ] {
        let preview = browser.post(&format!("{path}/preview"), &[("policy", policy)]).await;
        check_shown(&preview, 200, expected);
        let saved = browser.post(&path, &[("policy", policy)]).await;
        let page = check_shown(&saved, 400, expected);
        assert!(page.contains("Nothing was saved."), "{page}");
    }
    let hostile = format!("{{\"{SCRIPT}\": 1}}");
    let answer = browser.post(&path, &[("policy", &hostile)]).await;
    check_shown(&answer, 400, "&lt;script&gt;");
    let valid = browser.post(&format!("{path}/preview"), &[("policy", "{}")]).await;
    check_shown(&valid, 200, "The policy is valid.");
    assert_eq!(policy(&fixture).await, "{}");
}

#[tokio::test(flavor = "multi_thread")]
async fn previews_read_only_conversations_of_the_agent() {
    let (fixture, browser) = administrator().await;
    for agent in [fixture.other_agent_id, fixture.foreign_agent_id] {
        let token = fixture.operator.secret_key(&[Scope::Append], &[agent]).await;
        let caller = fixture.operator.caller().with_token(&token.secret);
        tests::agent::Agent::new(caller, agent).create(agent).await;
    }
    let path = format!("{}/policy/preview", agent_path(&fixture));
    for id in [fixture.other_agent_id, fixture.foreign_agent_id, "nobody", "history:audit:2026-11", SCRIPT] {
        let answer = browser.post(&path, &[("policy", "{}"), ("conversation", id)]).await;
        check_shown(&answer, 200, "The agent has no such conversation");
    }
    let log = browser.get("/dashboard/audit").await.text();
    assert!(!log.contains("policy preview"), "{log}");
}
