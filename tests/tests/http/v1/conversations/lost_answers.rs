//! The connection to the writer breaks after an append, as when the writer is killed.

use serde_json::json;
use tests::eventually::eventually_true;
use tests::http_client::HttpClient;
use tests::port;
use tests::proxy::{Network, Proxy};

use uuid::Uuid;
use wire::proto::operate::v1::Scope;

use super::{created, message, service};
use crate::fixture::{Fixture, list};

const WITH_KEY: &str = "recorded-with-a-key";
const WITHOUT_KEY: &str = "recorded-without-a-key";

#[tokio::test(flavor = "multi_thread")]
async fn appends_with_a_key_are_made_again() {
    let mut fixture = Fixture::own().await;
    let writer = fixture.stack.writer.settings.writer.grpc.addr;
    let proxy = Proxy::start(port::free(), writer).await;
    fixture.stack.gateway.stop().await;
    fixture.stack.gateway.settings.gateway.writer_url = format!("http://{}", proxy.addr());
    fixture.stack.gateway.start().await;
    let service = service(&fixture, &[Scope::Append, Scope::Read]).await;
    let path = format!("{}/events", created(&fixture, &service).await);
    let append = async |client: &HttpClient, text: &'static str| {
        let lost = proxy.lost();
        proxy.set(Network::LosesAnswers(text.as_bytes()));
        let restore = async {
            eventually_true("a lost answer", || proxy.lost() > lost).await;
            proxy.set(Network::Normal);
        };
        let body = json!({"events": [message(text)]});
        tokio::join!(client.post(&path, &body), restore).0
    };

    let refused = append(&service, WITHOUT_KEY).await;
    assert_eq!(refused.status_and_code(), (503, "RECORD_UNAVAILABLE".to_owned()));
    assert!(refused.headers.contains_key("retry-after"));

    let keyed = service.with("idempotency-key", &Uuid::now_v7().to_string());
    append(&keyed, WITH_KEY).await.ok(200);
    let page = service.get(&path).await.ok(200);
    let recorded = |text: &str| list(&page, "events").iter().filter(|event| event.to_string().contains(text)).count();
    assert_eq!((recorded(WITHOUT_KEY), recorded(WITH_KEY)), (1, 1));
}
