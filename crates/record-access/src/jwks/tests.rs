use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

const SET: &str = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

fn loopback() -> Policy {
    Policy::new(&egress::EgressConfig::loopback())
}

/// A tenant's server with a settable answer.
struct Publisher {
    url: String,
    answer: Arc<Mutex<String>>,
    requests: Arc<AtomicUsize>,
}

impl Publisher {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/jwks", listener.local_addr().unwrap());
        let publisher = Self { url, answer: Arc::default(), requests: Arc::default() };
        let (answer, requests) = (Arc::clone(&publisher.answer), Arc::clone(&publisher.requests));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read(&mut [0; 4_096]).await;
                requests.fetch_add(1, Ordering::SeqCst);
                let answer = answer.lock().await.clone();
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        publisher
    }

    async fn set_answer(&self, status: &str, body: &str) {
        let length = body.len();
        *self.answer.lock().await = format!(
            "HTTP/1.1 {status}\r\nlocation: {}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}",
            self.url
        );
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

fn id() -> SigningKeyId {
    SigningKeyId::parse("provider").unwrap()
}

fn at(time: Duration) -> Timestamp {
    Timestamp(i64::try_from(time.as_nanos()).unwrap())
}

fn just_before(time: Duration) -> Duration {
    time.checked_sub(Duration::from_nanos(1)).unwrap()
}

const BEGIN: Duration = Duration::from_hours(10);

#[tokio::test]
async fn a_set_is_cached_then_fetched_again_then_used_while_stale() {
    let publisher = Publisher::start().await;
    publisher.set_answer("200 OK", SET).await;
    let jwks = Jwks::new(loopback()).unwrap();
    // The time, whether there are keys, the number of requests so far.
    let check = async |after: Duration, has_keys: bool, requests: usize| {
        let keys = jwks.keys(&id(), &publisher.url, CACHE_TTL, at(BEGIN + after)).await;
        assert_eq!((keys.is_some(), publisher.requests()), (has_keys, requests), "{after:?}");
    };
    check(Duration::ZERO, true, 1).await;
    check(just_before(CACHE_TTL), true, 1).await;
    check(CACHE_TTL, true, 2).await;
    publisher.set_answer("500 Internal Server Error", SET).await;
    check(CACHE_TTL + CACHE_TTL, true, 3).await;
    check(just_before(CACHE_TTL + CACHE_TTL + REFETCH_INTERVAL_MIN), true, 3).await;
    check(CACHE_TTL + CACHE_TTL + REFETCH_INTERVAL_MIN, true, 4).await;
    check(just_before(CACHE_TTL + STALE_TTL), true, 5).await;
    check(CACHE_TTL + STALE_TTL, false, 5).await;
    check(CACHE_TTL + STALE_TTL + REFETCH_INTERVAL_MIN, false, 6).await;
    publisher.set_answer("200 OK", SET).await;
    check(CACHE_TTL + STALE_TTL + REFETCH_INTERVAL_MIN + REFETCH_INTERVAL_MIN, true, 7).await;
    let later = at(BEGIN + CACHE_TTL + STALE_TTL + REFETCH_INTERVAL_MIN * 3);
    let young = jwks.keys(&id(), &publisher.url, REFETCH_INTERVAL_MIN, later).await;
    assert!(young.is_some());
    assert_eq!(publisher.requests(), 8);
}

#[tokio::test]
async fn concurrent_callers_fetch_once() {
    let publisher = Publisher::start().await;
    publisher.set_answer("200 OK", SET).await;
    let jwks = Arc::new(Jwks::new(loopback()).unwrap());
    let callers = (0..50).map(|_| {
        let (jwks, url) = (Arc::clone(&jwks), publisher.url.clone());
        tokio::spawn(async move { jwks.keys(&id(), &url, CACHE_TTL, at(BEGIN)).await.is_some() })
    });
    for caller in callers.collect::<Vec<_>>() {
        assert!(caller.await.unwrap());
    }
    assert_eq!(publisher.requests(), 1);
}

#[tokio::test]
async fn invalid_sets_give_no_keys() {
    let padded = |bytes: usize| format!("{SET}{}", " ".repeat(bytes - SET.len()));
    for (status, body, expected) in [
        ("200 OK", padded(JWKS_BYTES_MAX), true),
        ("200 OK", padded(JWKS_BYTES_MAX + 1), false),
        ("200 OK", "{}".to_owned(), false),
        ("200 OK", r#"{"keys":[]}"#.to_owned(), false),
        ("302 Found", SET.to_owned(), false),
        ("404 Not Found", SET.to_owned(), false),
    ] {
        let publisher = Publisher::start().await;
        publisher.set_answer(status, &body).await;
        let jwks = Jwks::new(loopback()).unwrap();
        let keys = jwks.keys(&id(), &publisher.url, CACHE_TTL, at(BEGIN)).await;
        assert_eq!(keys.is_some(), expected, "{status} {}", body.len());
        assert_eq!(publisher.requests(), 1);
    }
}

#[tokio::test]
async fn forbidden_urls_are_not_fetched() {
    let publisher = Publisher::start().await;
    publisher.set_answer("200 OK", SET).await;
    let jwks = Jwks::new(loopback()).unwrap();
    let with_name = publisher.url.replace("127.0.0.1", "ada@127.0.0.1");
    for url in [with_name.as_str(), "http://192.0.2.1/jwks", "file:///etc/passwd", "x"] {
        assert!(jwks.keys(&id(), url, CACHE_TTL, at(BEGIN)).await.is_none(), "{url}");
    }
    let strict = Jwks::new(Policy::default()).unwrap();
    let keys = strict.keys(&id(), &publisher.url, CACHE_TTL, at(BEGIN)).await;
    assert!(keys.is_none(), "loopback");
    assert_eq!(publisher.requests(), 0);
}
