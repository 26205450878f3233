//! Pages of messages consist of whole turns, and add up to the whole chat.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use tests::events::{assistant, call, error, note, result, user};
use tests::http_client::HttpClient;
use wire::proto::event::v1::Event;

use crate::fixture::{Fixture, begin, list};

/// Random conversations.
const CONVERSATIONS: u64 = 6;

/// Commits of a conversation with late results and events that belong to no turn.
fn commits(random: &mut StdRng) -> Vec<Vec<Event>> {
    let (mut commits, mut open) = (Vec::new(), Vec::new());
    for index in 0..random.random_range(1..60) {
        commits.push(match random.random_range(0..8) {
            0..3 => vec![user(format!("question {index}"))],
            3 | 4 => vec![assistant(format!("answer {index}"))],
            5 => {
                let id = format!("c{index}");
                open.push(id.clone());
                vec![assistant("let me look"), call(&id, r#"{"q": 1.0}"#)]
            }
            6 => match open.pop() {
                Some(id) => vec![result(&id, r#"{"found": true}"#), assistant("found")],
                None => vec![note("nothing")],
            },
            _ => vec![error("a limit"), user(format!("again {index}"))],
        });
    }
    commits
}

async fn page(client: &HttpClient, chat: &str, limit: usize, before: Option<u64>) -> Value {
    let before = before.map(|before| format!("&before={before}"));
    let path = format!("/api/chats/{chat}?limit={limit}{}", before.unwrap_or_default());
    client.get(&path).await.ok(200)
}

/// The pages from newest to oldest, concatenated; each except the oldest starts with a user's message.
async fn read_pages(client: &HttpClient, chat: &str, limit: usize) -> Vec<Value> {
    let (mut messages, mut before) = (Vec::new(), None);
    loop {
        let page = page(client, chat, limit, before).await;
        let these = list(&page, "messages").to_vec();
        let turns = these.iter().filter(|message| message["role"] == "user");
        assert!(these.len() <= limit || turns.count() <= 1, "limit {limit}: {these:?}");
        before = page["nextBefore"].as_u64();
        if before.is_some() {
            assert_eq!(these[0]["role"], "user", "limit {limit}");
        }
        messages.splice(0..0, these);
        if before.is_none() {
            return messages;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_add_up_to_the_whole_chat() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    for seed in 0..CONVERSATIONS {
        let mut random = StdRng::seed_from_u64(seed);
        let chat = begin(&session, &json!({})).await;
        for commit in commits(&mut random) {
            fixture.agent.append(&chat, commit).await;
        }
        let whole = page(&session, &chat, 200, None).await;
        assert_eq!(whole["nextBefore"], Value::Null, "seed {seed}");
        for limit in [1, 2, 3, 5, 8, 13, 50] {
            let together = read_pages(&session, &chat, limit).await;
            assert_eq!(together, list(&whole, "messages"), "seed {seed}, limit {limit}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn long_turns_are_cut() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    fixture.agent.append(&chat, vec![user("go")]).await;
    for _ in 0..10 {
        let notes = (0..500).map(|_| note("n"));
        fixture.agent.append(&chat, notes.collect()).await;
    }
    fixture.agent.append(&chat, vec![assistant("done")]).await;
    let newest = page(&session, &chat, 50, None).await;
    assert_eq!(list(&newest, "messages").len(), 1);
    let before = newest["nextBefore"].as_u64().unwrap();
    let older = page(&session, &chat, 50, Some(before)).await;
    assert_eq!(list(&older, "messages").len(), 1);
    assert_eq!(older["messages"][0]["role"], "user");
    assert_eq!(older["nextBefore"], Value::Null);
}

/// JSON writes most control characters with six bytes, and an answer has each text twice.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_bounded_by_its_size_in_json() {
    const MIB: usize = 1024 * 1024;
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    let escaped = "\u{1}".repeat(300 * 1024);
    for index in 0..4 {
        let question = user(format!("{index}{escaped}"));
        fixture.agent.append(&chat, vec![question]).await;
        let answer = assistant(format!("{index}{escaped}"));
        fixture.agent.append(&chat, vec![answer]).await;
    }
    let (mut messages, mut before) = (Vec::new(), String::new());
    for _ in 0..10 {
        let path = format!("/api/chats/{chat}?limit=200&include=events{before}");
        let page = session.get(&path).await.ok(200);
        let bytes = page.to_string().len();
        assert!(bytes <= 8 * MIB, "{bytes}");
        let these = list(&page, "messages").iter();
        let texts =
            these.flat_map(|message| message["parts"].as_array().unwrap()).filter_map(|part| part["text"].as_str());
        let starts = texts.map(|text| text[..1].to_owned());
        messages.splice(0..0, starts);
        match page["nextBefore"].as_u64() {
            Some(version) => before = format!("&before={version}"),
            None => break,
        }
    }
    assert_eq!(messages, ["0", "0", "1", "1", "2", "2", "3", "3"]);
}
