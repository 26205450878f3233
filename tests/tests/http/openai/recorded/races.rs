//! Concurrent requests in one conversation.

use std::time::Duration;

use futures::future::join_all;
use serde_json::Value;
use tests::eventually::eventually;
use tests::model::Reply;

use super::{CONVERSATION, PATH, System, answer, body, conversation, error, history, locked, send, user};

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_requests_succeeds() {
    let system = System::start().await;
    let ada = system.client.with("x-hansard-user", "ada");
    let mut lost = 0;
    for round in 0..10 {
        let chat = ada.with(CONVERSATION, &format!("chat-{round}"));
        let numbers = (0..4).map(|number| user(&(number % 2).to_string()));
        let requests: Vec<Value> = numbers.map(|message| body(&[message])).collect();
        let answers = join_all(requests.iter().map(|request| chat.post(PATH, request))).await;
        let mut id = None;
        let mut answered = Vec::new();
        for answer in &answers {
            if answer.status == 200 {
                id = Some(conversation(answer));
                let message = &answer.json()["choices"][0]["message"]["content"];
                answered.push(message.as_str().unwrap().to_owned());
            } else {
                assert_eq!(error(answer), locked());
                lost += 1;
            }
        }
        // A later request may have replaced the first one; each answer is of one run, and the last one is shown.
        let shown = history(&ada, &id.unwrap()).await;
        assert_eq!(shown.len(), 2, "{shown:?}");
        assert!(answered.contains(&shown[1].1), "{shown:?} {answered:?}");
    }
    assert!(lost > 0, "no request lost a race");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_active_run_locks_the_conversation() {
    let system = System::with(|requests| {
        if requests.len() == 1 {
            return Reply::Late(Duration::from_secs(2), "late".to_owned());
        }
        answer(requests)
    })
    .await;
    let ada = system.client.with("x-hansard-user", "ada");
    let chat = ada.with(CONVERSATION, "chat-1");
    let first = tokio::spawn({
        let chat = chat.clone();
        async move { send(&chat, &[user("a")]).await }
    });
    eventually("a started run", || async { (system.model.requests().len() == 1).then_some(()) }).await;
    for other in [&[user("b")][..], &[user("a")][..]] {
        assert_eq!(error(&send(&chat, other).await), locked());
    }
    // The library's own retry waits for the answer of the first attempt.
    let retry = chat.with("x-stainless-retry-count", "1");
    let again = send(&retry, &[user("a")]).await.ok(200);
    assert_eq!(again["choices"][0]["message"]["content"], "late");
    let first = first.await.unwrap();
    assert_eq!(first.ok(200)["choices"][0]["message"], again["choices"][0]["message"]);
    assert_eq!(history(&ada, &conversation(&first)).await.len(), 2);
}
