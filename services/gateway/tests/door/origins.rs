//! A page reads what its key lets it read, and nothing else.

use serde_json::Value;

use crate::served::{ORIGIN, header, serve};

#[tokio::test]
async fn only_pages_that_the_key_allows_may_ask_and_read() {
    let served = serve(|_| {}).await;
    let key = ("x-api-key", "k");
    for (headers, status, readable_by) in [
        (vec![key], 200, None),
        (vec![key, ("origin", ORIGIN)], 200, Some(ORIGIN)),
        (vec![key, ("origin", "https://evil.net")], 403, None),
        (vec![key, ("origin", "null")], 403, None),
        (vec![("origin", ORIGIN)], 401, None),
    ] {
        let answer = served.get(&headers).await;
        assert_eq!(answer.status(), status, "{headers:?}");
        let told = header(&answer, "access-control-allow-origin");
        assert_eq!(told, readable_by, "{headers:?}");
        let credentials = header(&answer, "access-control-allow-credentials");
        assert_eq!(credentials, readable_by.map(|_| "true"), "{headers:?}");
        if headers.len() == 2 {
            assert_eq!(header(&answer, "vary"), Some("origin"));
        }
        if status == 403 {
            let body: Value = answer.json().await.unwrap();
            assert_eq!(body["code"], "ORIGIN_NOT_ALLOWED");
        }
    }
}
