//! Interrupted and resumed streams: each part arrives once.

use serde_json::json;
use tests::admin;

use super::fixture::TurnFixture;
use super::sse::{Event, EventStream, chunks, kinds, listen, say, text};

const WORDS: &str = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen";

#[tokio::test(flavor = "multi_thread")]
async fn resumed_streams_continue_after_the_last_part() {
    let fixture = TurnFixture::new().await;
    let chat = fixture.chat().await;
    let mut page = say(&fixture.client, &chat, &json!({"content": WORDS})).await;
    let (mut heard, mut ids) = (Vec::new(), Vec::new());
    let mut returns = Vec::new();
    while let Some(event) = page.next().await {
        if let (Some(id), Some(part)) = (&event.id, event.part()) {
            assert_eq!(*id, format!("{}:{part}", page.run));
            let url = format!("/api/chats/{chat}/stream?run={}", page.run);
            let request = fixture.client.request(reqwest::Method::GET, &url);
            let back = EventStream::open(request.header("last-event-id", id)).await;
            returns.push((heard.len() + 1, back));
            ids.push(part);
        }
        heard.push(event);
    }
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
    assert!(ids.len() > 3, "{ids:?}");
    assert_eq!(text(&heard), format!("echo: {WORDS}"));
    for (at, mut back) in returns {
        assert_eq!(back.status, 200);
        assert_eq!(back.rest().await, heard[at..], "after event {at}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_on_two_gateways_get_the_same_events() {
    let fixture = TurnFixture::new().await;
    let (_other, second) = fixture.second_gateway().await;
    let chat = fixture.chat().await;
    let mut page = say(&fixture.client, &chat, &json!({"content": WORDS})).await;
    let mut heard = vec![page.next().await.unwrap()];
    let mut here = listen(&fixture.client, &chat, None).await;
    let mut there = listen(&second, &chat, None).await;
    assert_eq!((here.status, there.status), (200, 200));
    heard.extend(page.rest().await);
    assert_eq!(here.rest().await, heard);
    assert_eq!(there.rest().await, heard);
}

#[tokio::test(flavor = "multi_thread")]
async fn from_selects_the_first_part() {
    let fixture = TurnFixture::new().await;
    let chat = fixture.chat().await;
    let mut page = say(&fixture.client, &chat, &json!({"content": WORDS})).await;
    let run = page.run.clone();
    let heard = page.rest().await;
    let second = heard.iter().filter_map(Event::part).nth(1).unwrap();
    let url = format!("/api/chats/{chat}/stream?run={run}&from={second}");
    let mut back = EventStream::open(fixture.client.request(reqwest::Method::GET, &url)).await;
    let first = heard.iter().position(|event| event.part().is_some_and(|part| part < second));
    assert_eq!(back.rest().await, heard[first.unwrap() + 1..]);
}

#[tokio::test(flavor = "multi_thread")]
async fn draining_gateways_end_every_text() {
    let mut fixture = TurnFixture::own().await;
    let chat = fixture.chat().await;
    let many = WORDS.repeat(20);
    let mut page = say(&fixture.client, &chat, &json!({"content": many})).await;
    let mut heard = vec![page.next().await.unwrap()];
    while !kinds_so_far(&heard).contains("text-delta") {
        heard.push(page.next().await.unwrap());
    }
    let stopping = fixture.stack.gateway.stop();
    let (_, rest) = tokio::join!(stopping, page.rest());
    heard.extend(rest);
    let kinds = kinds(&heard);
    assert_eq!(kinds.last().unwrap(), "error", "{kinds:?}");
    let starts = kinds.iter().filter(|kind| *kind == "text-start").count();
    let ends = kinds.iter().filter(|kind| *kind == "text-end").count();
    assert_eq!((starts, ends), (1, 1));
    let last = chunks(&heard).pop().unwrap();
    assert_eq!(last["errorText"], "The connection was closed by the server. Please reconnect.");
}

/// Operators see the drain while runs end: the admin port closes last.
#[tokio::test(flavor = "multi_thread")]
async fn the_admin_port_of_a_draining_gateway_closes_after_its_runs() {
    let mut fixture = TurnFixture::own().await;
    let (_other, second) = fixture.second_gateway().await;
    let chat = fixture.chat().await;
    let mut page = say(&fixture.client, &chat, &json!({"content": WORDS.repeat(20)})).await;
    let mut parts = listen(&second, &chat, None).await;
    let admin_addr = fixture.stack.gateway.admin_addr();
    let observe = async {
        let heard = page.rest().await;
        // The run continues, and the listeners are closed.
        for _ in 0..heard.len() + 3 {
            parts.next().await.unwrap();
        }
        admin::get(admin_addr, "/readyz").await
    };
    let (_, seen) = tokio::join!(fixture.stack.gateway.stop(), observe);
    let seen = seen.expect("an open admin port");
    assert_eq!(seen.status, 503);
    assert!(seen.body.contains(r#""draining":true"#), "{}", seen.body);
    assert!(admin::get(admin_addr, "/readyz").await.is_err());
}

fn kinds_so_far(events: &[Event]) -> String {
    events.iter().map(|event| event.data.as_str()).collect()
}
