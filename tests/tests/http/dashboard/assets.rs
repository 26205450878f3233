//! Embedded files: kept by browsers only at the URL of their own build.

use tests::dashboard::Browser;

use crate::fixture::Fixture;

#[tokio::test(flavor = "multi_thread")]
async fn assets_are_kept_at_the_url_of_their_build_only() {
    let fixture = Fixture::new().await;
    let browser = Browser::new(fixture.stack.http_client());
    let page = browser.get("/dashboard/sign-in").await.text();
    let mut urls: Vec<&str> = page.split('"').filter(|text| text.starts_with("/dashboard/assets/")).collect();
    urls.dedup();
    assert!(urls.len() >= 3, "{urls:?}");
    for url in urls {
        let asset = browser.get(url).await;
        assert_eq!(asset.status, 200, "{url}");
        assert!(asset.headers["cache-control"].contains("immutable"), "{url}");
        let name = url.rsplit('/').next().unwrap();
        let of_another_build = browser.get(&format!("/dashboard/assets/0/{name}")).await;
        assert_eq!(of_another_build.body, asset.body, "{url}");
        assert_eq!(of_another_build.headers["cache-control"], "no-store");
    }
    let hash = "/dashboard/assets/0";
    for path in ["none.css", "..%2Fstyle.css", "style.css%00"] {
        assert_eq!(browser.get(&format!("{hash}/{path}")).await.status, 404, "{path}");
    }
}
