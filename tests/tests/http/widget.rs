//! The files of the chat widget: for pages of every origin, cached as long as their paths say, with the integrity that the
//! loader and the snippet name.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use reqwest::Method;
use serde_json::Value;
use sha2::{Digest as _, Sha384};
use tests::http_client::HttpClient;

use crate::fixture::Fixture;

const LOADER: &str = "/widget/1/hansard-chat.js";

/// A page's request of a file: its headers and its text.
async fn file(client: &HttpClient, path: &str) -> (BTreeMap<String, String>, String) {
    let page = client.with("origin", "https://any.example").with("accept-encoding", "identity");
    let answer = page.get(path).await;
    assert_eq!(answer.status, 200, "{path}");
    let text = String::from_utf8(answer.body.to_vec()).unwrap();
    (answer.headers, text)
}

fn integrity(text: &str) -> String {
    format!("sha384-{}", BASE64_STANDARD.encode(Sha384::digest(text)))
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_public_and_have_the_named_integrity() {
    let fixture = Fixture::new().await;
    let client = fixture.stack.http_client();
    let (headers, loader) = file(&client, LOADER).await;
    assert_eq!(headers["cache-control"], "public, no-cache");
    let named = loader.split_once("const FILES = ").unwrap().1;
    let named: Value = serde_json::from_str(named.split_once(";\n").unwrap().0).unwrap();
    for (name, content_type) in [("script", "text/javascript"), ("style", "text/css")] {
        let [path, expected] = [0, 1].map(|index| named[name][index].as_str().unwrap());
        let (headers, text) = file(&client, &format!("/widget/1/{path}")).await;
        assert_eq!(integrity(&text), expected, "{path}");
        let immutable = "public, max-age=31536000, immutable";
        assert_eq!(headers["cache-control"], immutable, "{path}");
        assert!(headers["content-type"].starts_with(content_type), "{path}");
        assert_eq!(headers["access-control-allow-origin"], "*", "{path}");
        assert_eq!(headers["cross-origin-resource-policy"], "cross-origin");
        assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
    }
    let snippet = widget::Snippet::new("https://chat.example", "hp_x");
    assert_eq!(snippet.integrity, Some(integrity(&loader).as_str()));
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_revalidated_and_those_of_other_builds_are_missing() {
    let fixture = Fixture::new().await;
    let client = fixture.stack.http_client();
    let (headers, _) = file(&client, LOADER).await;
    let known = client.with("if-none-match", &headers["etag"]);
    let answer = known.get(LOADER).await;
    assert_eq!((answer.status, answer.body.len()), (304, 0));
    assert_eq!(answer.headers["etag"], headers["etag"]);
    let head = client.request(Method::HEAD, LOADER).send().await.unwrap();
    assert_eq!(head.status(), 200);
    for path in ["0123456789abcdef/chat.js", "..%2f/chat.js", "x/hansard-chat.js"] {
        let answer = client.get(&format!("/widget/1/{path}")).await;
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(answer.json()["code"], "ROUTE_NOT_FOUND", "{path}");
        assert_eq!(answer.headers["cache-control"], "no-store", "{path}");
    }
}
