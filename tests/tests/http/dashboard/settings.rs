//! The settings of agents, their keys and webhooks, as administrators change them.

mod agent;
mod api_keys;
mod policy;
mod signing_keys;
mod webhooks;

use tests::dashboard::Browser;
use tests::http_client::Answer;
use wire::proto::operate::v1::DashboardRole;

use super::transcript::person;
use crate::fixture::Fixture;

/// Text that must not become markup.
const SCRIPT: &str = "</textarea><script>alert(1)</script>";

async fn administrator() -> (Fixture, Browser) {
    let fixture = Fixture::new().await;
    let browser = person(&fixture, DashboardRole::Administrator).await;
    (fixture, browser)
}

/// The path of the settings of [`Fixture::agent_id`].
fn agent_path(fixture: &Fixture) -> String {
    format!("/dashboard/settings/agents/{}", fixture.agent_id)
}

/// The value of a hidden or visible input of a page.
fn input(page: &str, name: &str) -> String {
    let (_, rest) = page.split_once(&format!("name=\"{name}\"")).expect(name);
    let (_, rest) = rest.split_once("value=\"").expect(name);
    rest.split('"').next().unwrap().to_owned()
}

/// The secret that a page shows once.
fn secret(page: &str) -> String {
    let (_, rest) = page.split_once("<code id=\"secret\">").expect("a secret");
    rest.split('<').next().unwrap().to_owned()
}

/// A page with this text, which is no script.
fn check_shown(answer: &Answer, status: u16, text: &str) -> String {
    let page = answer.text();
    assert_eq!(answer.status, status, "{page}");
    assert!(page.contains(text), "{text}: {page}");
    assert!(!page.contains("<script>alert"), "{page}");
    page
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_and_missing_agents_look_alike() {
    let (fixture, browser) = administrator().await;
    let list = check_shown(&browser.get("/dashboard/settings").await, 200, fixture.agent_id);
    assert!(!list.contains(fixture.foreign_agent_id), "{list}");
    let foreign_key = &fixture.foreign_key.id;
    let own_key = &fixture.other_key.id;
    for page in ["", "/policy", "/keys", "/webhooks"] {
        let get = |agent: &str| format!("/dashboard/settings/agents/{agent}{page}");
        let foreign = browser.get(&get(fixture.foreign_agent_id)).await;
        let missing = browser.get(&get("nobody")).await;
        assert_eq!((foreign.status, missing.status), (404, 404), "{page}");
        assert_eq!(foreign.text(), missing.text(), "{page}");
    }
    let fields = [("revision", ""), ("policy", "{}"), ("model.server", "echo")];
    for page in ["", "/policy", "/policy/preview", "/keys", "/webhooks/secret"] {
        let path = |agent: &str| format!("/dashboard/settings/agents/{agent}{page}");
        let foreign = browser.post(&path(fixture.foreign_agent_id), &fields).await;
        let missing = browser.post(&path("nobody"), &fields).await;
        assert_eq!((foreign.status, missing.status), (404, 404), "{page}");
        assert_eq!(foreign.text(), missing.text(), "{page}");
    }
    for action in ["origins", "rotate", "revoke"] {
        // A foreign key, a missing one, and one of another agent of the tenant, under the agent's URL.
        let mut texts = Vec::new();
        for key in [foreign_key, "0123456789abcdef", own_key] {
            let fields = [("confirmation", key), ("origins", "*")];
            let path = format!("{}/keys/{key}/{action}", agent_path(&fixture));
            let answer = browser.post(&path, &fields).await;
            assert_eq!(answer.status, 404, "{action} {key}");
            texts.push(answer.text());
        }
        assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
    }
}
