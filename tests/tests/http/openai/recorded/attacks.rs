//! Nobody reads, extends or detects the conversation of somebody else by the id of a chat.

use serde_json::json;
use tests::http_client::HttpClient;
use wire::proto::operate::v1::Scope;

use super::{
    AGENT, CONVERSATION, FOREIGN_AGENT, OTHER_AGENT, PATH, System, assistant, body, conversation, error, history,
    pairs, send, user,
};
use crate::fixture::bearer;

const SECRET: &str = "my number is 4242";

#[tokio::test(flavor = "multi_thread")]
async fn a_guessed_chat_is_another_conversation() {
    let system = System::start().await;
    let ada = system.client.with("x-hansard-user", "ada");
    let alone = system.client.clone();
    let chats = [(ada.clone(), ada.with(CONVERSATION, "chat-1")), (alone.clone(), alone.with(CONVERSATION, "chat-1"))];
    let mut victims = Vec::new();
    for (reader, chat) in chats {
        let id = conversation(&send(&chat, &[user(SECRET)]).await);
        // Its own id names it as well as the client's.
        let again = [user(SECRET), assistant("x"), user("y")];
        assert_eq!(conversation(&send(&reader.with(CONVERSATION, &id), &again).await), id);
        assert_eq!(conversation(&send(&chat, &again).await), id);
        let before = history(&reader, &id).await;
        victims.push((reader, id, before));
    }
    assert_ne!(victims[0].1, victims[1].1);
    let strangers = [
        (AGENT, system.client.with("x-hansard-user", "bob")),
        (OTHER_AGENT, system.back_end(OTHER_AGENT).await),
        (OTHER_AGENT, system.back_end(OTHER_AGENT).await.with("x-hansard-user", "ada")),
        (FOREIGN_AGENT, system.back_end(FOREIGN_AGENT).await),
        (FOREIGN_AGENT, system.back_end(FOREIGN_AGENT).await.with("x-hansard-user", "ada")),
    ];
    for (agent, stranger) in strangers {
        for id in ["chat-1", victims[0].1.as_str(), victims[1].1.as_str()] {
            attack(&system, &stranger, agent, id).await;
        }
    }
    for (reader, id, before) in &victims {
        assert_eq!(history(reader, id).await, *before);
    }
}

/// A stranger gets the same for a foreign chat and for a missing one: a conversation of their own.
async fn attack(system: &System, stranger: &HttpClient, agent: &str, id: &str) {
    for context in ["managed", ""] {
        let chat = stranger.with("x-hansard-context", context);
        let mut request = body(&[user("What is my number?")]);
        request["model"] = json!(agent);
        let foreign = chat.with(CONVERSATION, id).post(PATH, &request).await;
        let missing = chat.with(CONVERSATION, "none").post(PATH, &request).await;
        assert_eq!((foreign.status, missing.status), (200, 200));
        let read = [("user", "What is my number?")];
        assert_eq!(system.last_context(), pairs(&read));
        let contents = system.model.requests();
        let [.., of_foreign, _] = contents.as_slice() else {
            panic!("two requests");
        };
        assert!(!of_foreign.to_string().contains(SECRET));
        let (one, two) = (conversation(&foreign), conversation(&missing));
        assert!(one != two && one != id, "{one} {two} {id}");
        let own = history(stranger, &one).await;
        assert!(own.iter().all(|(_, text)| !text.contains(SECRET)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_chat_stays_erased() {
    let system = System::start().await;
    let ada = system.client.with("x-hansard-user", "ada");
    let chat = ada.with(CONVERSATION, "chat-1");
    let id = conversation(&send(&chat, &[user("a")]).await);
    let path = format!("/openai/v1/conversations/{id}");
    ada.delete(&path).await.ok(200);
    let refused = send(&chat, &[user("b")]).await;
    assert_eq!(error(&refused).0, 404);
    assert_eq!(ada.get(&path).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_the_record_needs_the_scope() {
    let system = System::start().await;
    let scopes = [Scope::Append];
    let key = system.operator.secret_key(&scopes, &[AGENT]).await;
    let writer = bearer(&system.stack, &key.secret).with(CONVERSATION, "chat-1");
    send(&writer, &[user("a")]).await.ok(200);
    let managed = writer.with("x-hansard-context", "managed");
    let refused = send(&managed, &[user("a")]).await;
    let (status, code, _) = error(&refused);
    assert_eq!((status, code.as_str()), (403, "MISSING_SCOPE"));
}
