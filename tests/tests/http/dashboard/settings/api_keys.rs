//! API keys: created, rotated and revoked by pages.

use serde_json::json;
use tests::eventually::eventually;

use super::{SCRIPT, administrator, agent_path, check_shown, secret};
use crate::fixture::Fixture;

/// The id of the key whose secret a page shows.
fn id(page: &str) -> String {
    let (_, rest) = page.split_once("<strong>API key ").expect("a key");
    rest.chars().take(16).collect()
}

/// Waits until a key gets this status.
async fn wait_for(fixture: &Fixture, secret: &str, status: u16) {
    let client = fixture.stack.http_client().with("x-api-key", secret);
    eventually("the state of the key", || async {
        let answer = client.post("/api/sessions", &json!({})).await;
        (answer.status == status).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_created_rotated_and_revoked() {
    let (fixture, browser) = administrator().await;
    let keys = format!("{}/keys", agent_path(&fixture));
    let fields = [("name", SCRIPT), ("origins", "https://shop.example\r\n\r\n https://b.example ")];
    let created = check_shown(&browser.post(&keys, &fields).await, 200, "It is not shown again");
    let (first, first_secret) = (id(&created), secret(&created));
    let listed = check_shown(&browser.get(&keys).await, 200, &first);
    assert!(!listed.contains(&first_secret), "{listed}");
    assert!(listed.contains("<code>https://b.example</code>"), "{listed}");
    wait_for(&fixture, &first_secret, 201).await;
    let rotate = format!("{keys}/{first}/rotate");
    let rotated = browser.post(&rotate, &[("overlap", "3600")]).await;
    let rotated = check_shown(&rotated, 200, &format!("which replaces {first}"));
    let (second, second_secret) = (id(&rotated), secret(&rotated));
    wait_for(&fixture, &second_secret, 201).await;
    wait_for(&fixture, &first_secret, 201).await;
    for (confirmation, expected) in [("", 400), (second.as_str(), 400), (first.as_str(), 303)] {
        let fields = [("confirmation", confirmation)];
        let revoked = browser.post(&format!("{keys}/{first}/revoke"), &fields).await;
        assert_eq!(revoked.status, expected, "{confirmation}: {}", revoked.text());
    }
    wait_for(&fixture, &first_secret, 401).await;
    wait_for(&fixture, &second_secret, 201).await;
    let ended = browser.post(&rotate, &[("overlap", "0")]).await;
    check_shown(&ended, 404, "names no valid API key");
    let log = browser.get("/dashboard/audit").await.text();
    for entry in ["new API key", &format!("API key {first}: rotated"), &format!("API key {first}: revoked")] {
        assert!(log.contains(entry), "{entry}: {log}");
    }
    for hidden in [&*first_secret, &*second_secret, "shop.example"] {
        assert!(!log.contains(hidden), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn origins_are_changed_and_errors_keep_the_text() {
    let (fixture, browser) = administrator().await;
    let keys = format!("{}/keys", agent_path(&fixture));
    let key = &fixture.key.id;
    let path = format!("{keys}/{key}/origins");
    let changed = browser.post(&path, &[("origins", "https://new.example")]).await;
    assert_eq!(changed.status, 303, "{}", changed.text());
    assert_eq!(changed.headers["location"], keys);
    check_shown(&browser.get(&keys).await, 200, "<code>https://new.example</code>");
    let wrong = browser.post(&path, &[("origins", SCRIPT)]).await;
    let wrong = check_shown(&wrong, 400, "allowed_origins[0] is not a web origin");
    assert!(wrong.contains("&lt;script&gt;"), "{wrong}");
    let many = "https://a.example\n".repeat(51);
    check_shown(&browser.post(&path, &[("origins", &many)]).await, 400, "at most 50");
    let too_long = [("name", "n".repeat(257)), ("origins", "kept".to_owned())];
    let long = too_long.each_ref().map(|(name, text)| (*name, text.as_str()));
    let long = check_shown(&browser.post(&keys, &long).await, 400, "display_name");
    assert!(long.contains("kept"), "{long}");
    let overlap = browser.post(&format!("{keys}/{key}/rotate"), &[("overlap", "2592001")]).await;
    check_shown(&overlap, 400, "the maximum is 2592000");
    let none = browser.post(&path, &[("origins", "")]).await;
    assert_eq!(none.status, 303);
}
