//! Signing keys: added and retired by pages.

use tests::dashboard::Browser;
use tests::eventually::eventually;
use tests::jwt;

use super::{SCRIPT, administrator, check_shown, secret};

const PATH: &str = "/dashboard/settings/signing-keys";

async fn add(browser: &Browser, (id, kind, material): (&str, &str, &str)) -> (u16, String) {
    let fields = [("id", id), ("use", "user"), ("kind", kind), ("material", material)];
    let answer = browser.post(PATH, &fields).await;
    (answer.status, answer.text())
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_added_and_retired() {
    let (fixture, browser) = administrator().await;
    let (status, page) = add(&browser, ("next", "generate", "")).await;
    assert_eq!(status, 200, "{page}");
    let secret = secret(&page);
    let listed = check_shown(&browser.get(PATH).await, 200, "<code>next</code>");
    assert!(!listed.contains(&secret), "{listed}");
    let own = "a secret of thirty-two bytes or more";
    let (status, page) = add(&browser, ("own", "secret", own)).await;
    assert_eq!(status, 200, "{page}");
    assert!(!page.contains(own), "{page}");
    let user = |secret: &str| fixture.frontend().with("x-user-token", &jwt::user(secret, "ada"));
    for secret in [&*secret, own] {
        let client = user(secret);
        eventually("a key that verifies", || async { (client.get("/api/chats").await.status == 200).then_some(()) })
            .await;
    }
    let retire = async |id: &str| {
        let fields = [("confirmation", id)];
        browser.post(&format!("{PATH}/retire"), &fields).await
    };
    check_shown(&retire("none").await, 404, "names no signing key");
    check_shown(&retire(SCRIPT).await, 400, "signing_key_id");
    assert_eq!(retire(" next ").await.status, 303);
    let client = user(&secret);
    eventually("the end of the key", || async { (client.get("/api/chats").await.status == 401).then_some(()) }).await;
    let url = "https://id.example/jwks.json";
    let (status, page) = add(&browser, ("remote", "url", url)).await;
    assert_eq!(status, 200, "{page}");
    assert!(page.contains(url), "{page}");
    let log = browser.get("/dashboard/audit").await.text();
    for entry in ["signing key next: added", "signing key next: retired"] {
        assert!(log.contains(entry), "{entry}: {log}");
    }
    assert!(!log.contains(&secret) && !log.contains(own), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_keep_the_text_but_no_secret() {
    let (_fixture, browser) = administrator().await;
    for (form, expected) in [
        (("a", "none", ""), 400),
        (("a", "generate", "a secret"), 400),
        (("a", "secret", "short secret"), 400),
        (("a", "jwks", "{\"keys\": []}"), 400),
        (("a", "url", "http://10.0.0.1/"), 400),
        ((SCRIPT, "generate", ""), 400),
        (("", "generate", ""), 400),
    ] {
        let (status, page) = add(&browser, form).await;
        assert_eq!(status, expected, "{form:?}: {page}");
        assert!(page.contains("role=\"alert\""), "{form:?}: {page}");
        assert!(!page.contains("<script>alert"), "{page}");
        assert!(!page.contains("secret</textarea>"), "{form:?}: {page}");
        let is_public = ["jwks", "url"].contains(&form.1);
        let typed = form.2.replace('"', "&quot;");
        assert!(!is_public || page.contains(&typed), "{form:?}: {page}");
    }
}
