use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

const SET: &str =
    r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

fn loopback() -> Policy {
    Policy::new(&egress::EgressConfig::loopback())
}

/// A tenant's server, which answers as it is told to.
struct Publisher {
    url: String,
    answer: Arc<Mutex<String>>,
    asked: Arc<AtomicUsize>,
}

impl Publisher {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/jwks", listener.local_addr().unwrap());
        let publisher = Self {
            url,
            answer: Arc::default(),
            asked: Arc::default(),
        };
        let (answer, asked) = (Arc::clone(&publisher.answer), Arc::clone(&publisher.asked));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read(&mut [0; 4_096]).await;
                asked.fetch_add(1, Ordering::SeqCst);
                let answer = answer.lock().await.clone();
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        publisher
    }

    async fn says(&self, status: &str, body: &str) {
        let length = body.len();
        *self.answer.lock().await = format!(
            "HTTP/1.1 {status}\r\nlocation: {}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}",
            self.url
        );
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
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

/// Some time.
const BEGIN: Duration = Duration::from_hours(10);

#[tokio::test]
async fn a_set_is_kept_then_fetched_again_then_used_on() {
    let publisher = Publisher::start().await;
    publisher.says("200 OK", SET).await;
    let jwks = Jwks::new(loopback()).unwrap();
    // After how long, whether there are keys, how often the server was asked in all.
    let check = async |after: Duration, has_keys: bool, asked: usize| {
        let keys = jwks
            .keys(&id(), &publisher.url, FRESH, at(BEGIN + after))
            .await;
        assert_eq!(
            (keys.is_some(), publisher.asked()),
            (has_keys, asked),
            "{after:?}"
        );
    };
    check(Duration::ZERO, true, 1).await;
    check(just_before(FRESH), true, 1).await;
    check(FRESH, true, 2).await;
    publisher.says("500 Internal Server Error", SET).await;
    check(FRESH + FRESH, true, 3).await;
    check(just_before(FRESH + FRESH + PAUSE), true, 3).await;
    check(FRESH + FRESH + PAUSE, true, 4).await;
    check(just_before(FRESH + STALE), true, 5).await;
    check(FRESH + STALE, false, 5).await;
    check(FRESH + STALE + PAUSE, false, 6).await;
    publisher.says("200 OK", SET).await;
    check(FRESH + STALE + PAUSE + PAUSE, true, 7).await;
    let later = at(BEGIN + FRESH + STALE + PAUSE * 3);
    let young = jwks.keys(&id(), &publisher.url, PAUSE, later).await;
    assert!(young.is_some());
    assert_eq!(publisher.asked(), 8);
}

#[tokio::test]
async fn many_callers_ask_once() {
    let publisher = Publisher::start().await;
    publisher.says("200 OK", SET).await;
    let jwks = Arc::new(Jwks::new(loopback()).unwrap());
    let callers = (0..50).map(|_| {
        let (jwks, url) = (Arc::clone(&jwks), publisher.url.clone());
        tokio::spawn(async move { jwks.keys(&id(), &url, FRESH, at(BEGIN)).await.is_some() })
    });
    for caller in callers.collect::<Vec<_>>() {
        assert!(caller.await.unwrap());
    }
    assert_eq!(publisher.asked(), 1);
}

#[tokio::test]
async fn what_is_no_set_gives_no_keys() {
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
        publisher.says(status, &body).await;
        let jwks = Jwks::new(loopback()).unwrap();
        let keys = jwks.keys(&id(), &publisher.url, FRESH, at(BEGIN)).await;
        assert_eq!(keys.is_some(), expected, "{status} {}", body.len());
        assert_eq!(publisher.asked(), 1);
    }
}

#[tokio::test]
async fn places_that_must_not_be_asked_are_not() {
    let publisher = Publisher::start().await;
    publisher.says("200 OK", SET).await;
    let jwks = Jwks::new(loopback()).unwrap();
    let with_name = publisher.url.replace("127.0.0.1", "ada@127.0.0.1");
    for url in [
        with_name.as_str(),
        "http://192.0.2.1/jwks",
        "file:///etc/passwd",
        "x",
    ] {
        assert!(
            jwks.keys(&id(), url, FRESH, at(BEGIN)).await.is_none(),
            "{url}"
        );
    }
    let strict = Jwks::new(Policy::default()).unwrap();
    let keys = strict.keys(&id(), &publisher.url, FRESH, at(BEGIN)).await;
    assert!(keys.is_none(), "loopback");
    assert_eq!(publisher.asked(), 0);
}
